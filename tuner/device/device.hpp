// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/model/device_facts.hpp"
#include "cache/model/records.hpp"
#include "cache/plan/plan.hpp"
#include "tuner/compile/compiler.hpp"

/// A device that runs configs: `cuda:N` through the driver, or `cpu`, the emulator. One interface for sweep, verify and
/// bench. A Device and its objects belong to one thread. A failed call throws DeviceError.
namespace tilewright {

using Address = std::uint64_t;

/// DeviceError::status() if memory runs out, also on the emulator: CUDA_ERROR_OUT_OF_MEMORY.
inline constexpr int kOutOfMemory = 2;

/// Memory of a device, freed by the destructor. Addresses are multiples of 256.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  [[nodiscard]] virtual Address address() const noexcept = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
};

/// The values of one launch: a device address or a scalar's bits per argument, and the workspaces.
struct LaunchArgs {
  /// Eight bytes per argument. Smaller scalars are in the low bytes.
  std::vector<std::uint64_t> values;
  std::vector<Address> workspaces;
};

/// A config that is ready to run on a device: kernels loaded, geometry final.
class DeviceExecutable {
 public:
  virtual ~DeviceExecutable() = default;
  [[nodiscard]] virtual const LaunchPlan& plan() const noexcept = 0;
  /// Runs once and waits. Throws DeviceError if the launch or the kernel fails (a deadlock or a misaligned access on
  /// the emulator, an illegal address on a GPU).
  virtual void run(const LaunchArgs& args) = 0;
};

/// A repeatable timed unit: a graph of launches on a GPU, a loop on the emulator.
class Rounds {
 public:
  virtual ~Rounds() = default;
  /// Runs one round. Returns nanoseconds per launch.
  [[nodiscard]] virtual double run() = 0;
};

/// Memory that a kernel changes. It is restored between rounds, outside the timed region.
struct Restore {
  Address destination = 0;
  Address source = 0;
  std::size_t bytes = 0;
};

struct RoundsRequest {
  MeasureMode mode = MeasureMode::cold;
  /// Launches per round. With `restore`, at most one per set.
  int launches = 1;
  /// Used in turn.
  std::span<const LaunchArgs> sets;
  std::span<const Restore> restore;
  /// Launches one by one behind a cleared cache, without a graph. Ready at once, but a kernel shorter than the host's
  /// part of a launch is measured as that part. Precise enough to estimate how many launches make a round of the wanted
  /// length.
  bool loose = false;
};

class TensorTools;

class Device {
 public:
  Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device();
  [[nodiscard]] virtual const DeviceFacts& facts() const noexcept = 0;
  /// "cuda:0" or "cpu".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Empty on the emulator.
  [[nodiscard]] virtual const std::string& gpu_uuid() const noexcept = 0;
  /// As in Versions::driver.
  [[nodiscard]] virtual int driver_version() const noexcept = 0;
  /// Current clock, power, temperature and other processes; empty if unknown.
  [[nodiscard]] virtual DeviceReadings readings() = 0;
  /// Why a GPU has no readings; empty if it has them, and on the emulator.
  [[nodiscard]] virtual std::string unwatched() const { return ""; }
  /// The compiler whose binaries this device loads.
  [[nodiscard]] virtual Compiler& compiler() = 0;
  [[nodiscard]] virtual std::size_t free_bytes() = 0;

  [[nodiscard]] virtual std::unique_ptr<DeviceBuffer> allocate(std::size_t bytes, const std::string& what) = 0;
  virtual void upload(Address to, std::span<const std::byte> from) = 0;
  virtual void download(std::span<std::byte> to, Address from) = 0;
  virtual void fill(Address to, std::uint8_t byte, std::size_t bytes) = 0;
  virtual void copy(Address to, Address from, std::size_t bytes) = 0;

  /// Loads a binary for one config and problem. Throws DeviceError if this device cannot load it, UsageError with the
  /// reason if the config is illegal for the problem.
  [[nodiscard]] virtual std::unique_ptr<DeviceExecutable> load(std::span<const std::byte> binary,
                                                               const std::vector<KernelFacts>& kernels,
                                                               const OpInterface& interface,
                                                               const ImplementationRecipe& recipe, const Config& config,
                                                               const Problem& problem) = 0;

  /// `executable` must outlive the result.
  [[nodiscard]] virtual std::unique_ptr<Rounds> rounds(DeviceExecutable& executable, const RoundsRequest& request) = 0;
  /// A round of this shape with empty kernels: the floor of all measured times.
  [[nodiscard]] virtual std::unique_ptr<Rounds> empty_rounds(MeasureMode mode, int launches) = 0;
  /// A round of this shape with the device's memory copy, from `sources[i]` to `destinations[i]` in turn.
  [[nodiscard]] virtual std::unique_ptr<Rounds> copy_rounds(MeasureMode mode, int launches,
                                                            std::span<const Address> destinations,
                                                            std::span<const Address> sources, std::size_t bytes) = 0;

  /// Tools that fill, sum and compare tensors in place (device/tensor_tools.hpp). They run on the host unless a device
  /// overrides this.
  [[nodiscard]] virtual TensorTools& tools();

 private:
  std::unique_ptr<TensorTools> host_tools_;
};

/// Throws UsageError if open_device() does not know the name.
void check_device_name(std::string_view name);

/// The driver's facts of a GPU without opening it.
struct DeviceSight {
  DeviceFacts facts;
  std::string uuid;
  /// The number of all GPUs.
  int gpus = 0;
};

/// Looks at the GPU that open_device() would open by this name; nullopt if there is none. Does not open it, so it is
/// quick even on a busy GPU.
[[nodiscard]] std::optional<DeviceSight> see_device(std::string_view name);

/// Opens "auto" (the first GPU, else the emulator), "cpu", "cuda" or "cuda:N". Throws UsageError for another name,
/// DeviceError if the GPU does not exist. `said` receives a line about the choice of "auto".
[[nodiscard]] std::unique_ptr<Device> open_device(std::string_view name, std::string* said = nullptr);

}  // namespace tilewright
