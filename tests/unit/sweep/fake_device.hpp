// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tuner/device/device.hpp"

/// A device and a compiler for tests of sweeps. Nothing is compiled or timed: outcomes are chosen and counts are exact.
/// A "binary" is the generated source; `run` computes the kernel's results.
namespace tilewright::testing {

/// The values of the parameter `fault` of tests/unit/sweep/ops/twice.
enum class Fault { none, compile, wrong_result, crash, timed_out, refused, wrong_in_place };

class FakeCompiler : public Compiler {
 public:
  CompileResult compile(const CompileRequest& request) override;
  [[nodiscard]] std::string version() const override { return version_text; }
  [[nodiscard]] bool makes_host_code() const noexcept override { return host_code; }

  std::string version_text = "fake 1.0";
  bool host_code = false;
  /// If not empty, compile() throws it as an Error: the compiler itself is broken.
  std::string broken;
  /// Configs that crash do not compile either.
  bool crashing_fails = false;
  /// The entry that does not compile.
  std::string failing_entry;
  std::atomic<int> compiles = 0;
  /// The registers of each compiled kernel.
  int registers = 32;
  /// Called by the compiling thread before each compilation.
  std::function<void()> before_compile;
};

struct FakeOptions {
  /// The index and the model of the GPU.
  int index = 0;
  std::string model = "Fictional GPU";
  /// 0: too little is known of the device to prune configs.
  int bus_bits = 0;
  /// A GPU, whose context is lost in a crash; else the emulator, which continues.
  bool gpu = false;
  std::size_t memory = std::size_t{64} << 20;
  /// A round's time besides its launches.
  double round_overhead_ns = 0;
  /// The largest random share by which rounds differ, by `seed`; 0: a fixed sequence within a thousandth.
  double noise = 0;
  std::uint64_t seed = 1;
};

class FakeDevice : public Device {
 public:
  explicit FakeDevice(FakeOptions options = {});

  [[nodiscard]] const DeviceFacts& facts() const noexcept override { return facts_; }
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] const std::string& gpu_uuid() const noexcept override { return uuid_; }
  [[nodiscard]] int driver_version() const noexcept override { return 0; }
  [[nodiscard]] DeviceReadings readings() override;
  [[nodiscard]] Compiler& compiler() override { return fake_compiler; }
  [[nodiscard]] std::size_t free_bytes() override { return options_.memory - std::min(options_.memory, used + taken); }
  [[nodiscard]] std::unique_ptr<DeviceBuffer> allocate(std::size_t bytes, const std::string& what) override;
  void upload(Address to, std::span<const std::byte> from) override;
  void download(std::span<std::byte> to, Address from) override;
  void fill(Address to, std::uint8_t byte, std::size_t bytes) override;
  void copy(Address to, Address from, std::size_t bytes) override;
  [[nodiscard]] std::unique_ptr<DeviceExecutable> load(std::span<const std::byte> binary,
                                                       const std::vector<KernelFacts>& kernels,
                                                       const OpInterface& interface, const ImplementationRecipe& recipe,
                                                       const Config& config, const Problem& problem) override;
  [[nodiscard]] std::unique_ptr<Rounds> rounds(DeviceExecutable& executable, const RoundsRequest& request) override;
  [[nodiscard]] std::unique_ptr<Rounds> empty_rounds(MeasureMode mode, int launches) override;
  [[nodiscard]] std::unique_ptr<Rounds> copy_rounds(MeasureMode mode, int launches,
                                                    std::span<const Address> destinations,
                                                    std::span<const Address> sources, std::size_t bytes) override;

  /// Throws DeviceError if the context is lost.
  void require_context() const;
  /// The noise of the next round.
  [[nodiscard]] double noise();

  FakeCompiler fake_compiler;
  /// Counts of timed rounds of more than one launch, of timed copies and empty launches; memory in use and its maximum.
  int timed = 0;
  int copies_timed = 0;
  int empties_timed = 0;
  std::size_t used = 0;
  std::size_t most_used = 0;
  /// Memory taken by other processes.
  std::size_t taken = 0;
  bool poisoned = false;
  /// Replaces the device's readings.
  std::function<DeviceReadings()> read;
  /// Called before each load.
  std::function<void()> before_load;
  /// Called after each allocation.
  std::function<void(const std::string& what, Address address)> allocated;
  /// Called before a config crashes.
  std::function<void()> before_crash;
  /// Called before a config is timed.
  std::function<void()> before_timing;

 private:
  FakeOptions options_;
  DeviceFacts facts_;
  std::string name_ = "cpu";
  std::string uuid_;
  std::mt19937_64 bits_;
};

}  // namespace tilewright::testing
