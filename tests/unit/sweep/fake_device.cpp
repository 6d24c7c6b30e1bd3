// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/sweep/fake_device.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <variant>

namespace tilewright::testing {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The value of a parameter in the generated `struct Config`.
int parameter(const std::string& source, const std::string& name, int otherwise) {
  const std::size_t at = source.find(" " + name + " = ");
  return at == std::string::npos ? otherwise : std::stoi(source.substr(at + name.size() + 4));
}

Fault fault_of(const std::string& source) { return static_cast<Fault>(parameter(source, "fault", 0)); }

struct FreeAligned {
  void operator()(std::byte* memory) const noexcept { ::operator delete[](memory, std::align_val_t{256}); }
};

class FakeBuffer : public DeviceBuffer {
 public:
  FakeBuffer(FakeDevice& device, std::size_t bytes)
      : device_(device),
        bytes_(bytes),
        memory_(static_cast<std::byte*>(::operator new[](std::max<std::size_t>(bytes, 1), std::align_val_t{256}))) {
    device_.used += bytes_;
    device_.most_used = std::max(device_.most_used, device_.used);
  }
  ~FakeBuffer() override { device_.used -= bytes_; }
  [[nodiscard]] Address address() const noexcept override { return reinterpret_cast<Address>(memory_.get()); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }

 private:
  FakeDevice& device_;
  std::size_t bytes_;
  std::unique_ptr<std::byte, FreeAligned> memory_;
};

template <class Number>
Number* at(Address address) {
  return reinterpret_cast<Number*>(address);
}

class FakeExecutable : public DeviceExecutable {
 public:
  FakeExecutable(FakeDevice& device, LaunchPlan plan, std::string source, std::string entry, std::int64_t n)
      : speed(parameter(source, "speed", 4)),
        device_(device),
        plan_(std::move(plan)),
        fault_(fault_of(source)),
        entry_(std::move(entry)),
        n_(n) {}

  [[nodiscard]] const LaunchPlan& plan() const noexcept override { return plan_; }

  void run(const LaunchArgs& args) override {
    device_.require_context();
    if (fault_ == Fault::crash) {
      if (device_.before_crash) device_.before_crash();
      device_.poisoned = !device_.facts().is_cpu();
      throw DeviceError("running twice_plain failed: cuLaunchKernelEx: an illegal memory access", 700);
    }
    if (fault_ == Fault::timed_out) throw DeviceError("running twice_plain failed: timed out: 60 s are over");
    const auto* x = at<const float>(args.values[0]);
    const bool reference = entry_.ends_with("_reference");
    const float factor = entry_.starts_with("twice") ? 2.0F : 1.0F;
    const bool wrong =
        fault_ == Fault::wrong_result || (fault_ == Fault::wrong_in_place && args.values[0] == args.values[1]);
    for (std::int64_t i = 0; i < n_; ++i) {
      if (reference) {
        at<double>(args.values[1])[i] = double{factor} * double{x[i]};
      } else {
        at<float>(args.values[1])[i] = wrong && i + 1 == n_ ? 0.0F : factor * x[i];
      }
    }
  }

  int speed;

 private:
  FakeDevice& device_;
  LaunchPlan plan_;
  Fault fault_;
  std::string entry_;
  std::int64_t n_;
};

/// Rounds of equal time within a thousandth, so that intervals are narrow but not empty; or with the device's noise.
class FakeRounds : public Rounds {
 public:
  explicit FakeRounds(double nanoseconds, FakeDevice* noisy = nullptr) : nanoseconds_(nanoseconds), noisy_(noisy) {}
  double run() override {
    return nanoseconds_ * (1 + (noisy_ != nullptr ? noisy_->noise() : 0.001 * (round_++ % 3 - 1)));
  }

 private:
  double nanoseconds_;
  FakeDevice* noisy_;
  int round_ = 0;
};

}  // namespace

CompileResult FakeCompiler::compile(const CompileRequest& request) {
  if (!broken.empty()) throw Error(broken);
  if (before_compile) before_compile();
  ++compiles;
  CompileResult result;
  result.compiler = version();
  result.milliseconds = 1;
  const bool fails = fault_of(request.source) == Fault::compile ||
                     (crashing_fails && fault_of(request.source) == Fault::crash) ||
                     std::find(request.entries.begin(), request.entries.end(), failing_entry) != request.entries.end();
  if (fails) {
    result.log = "in file twice.cu\ntwice.cu(7): error: planted mistake\nmore lines\n";
    return result;
  }
  result.ok = true;
  result.log = "compiled\n";
  const auto* bytes = reinterpret_cast<const std::byte*>(request.source.data());
  result.binary.assign(bytes, bytes + request.source.size());
  for (const std::string& entry : request.entries) {
    CompiledKernel kernel{entry, "_Z_" + entry, {}};
    kernel.resources.registers = registers;
    result.kernels.push_back(kernel);
  }
  return result;
}

FakeDevice::FakeDevice(FakeOptions options) : options_(options), facts_(emulator_facts()), bits_(options.seed) {
  if (!options_.gpu) return;
  name_ = "cuda:" + std::to_string(options_.index);
  facts_.name = options_.model;
  facts_.compute_capability = 90;
  facts_.memory_bus_bits = options_.bus_bits;
  facts_.memory_bytes = static_cast<std::int64_t>(options_.memory);
  uuid_ = "GPU-000" + std::to_string(options_.index);
}

double FakeDevice::noise() { return options_.noise * (2 * static_cast<double>(bits_() >> 11) * 0x1p-53 - 1); }

void FakeDevice::require_context() const {
  if (poisoned) throw DeviceError("cuMemAlloc: CUDA_ERROR_ILLEGAL_ADDRESS: the context is lost", 700);
}

DeviceReadings FakeDevice::readings() {
  if (read) return read();
  DeviceReadings readings;
  readings.sm_clock_mhz = 1980;
  readings.throttle_reasons = 4;
  return readings;
}

std::unique_ptr<DeviceBuffer> FakeDevice::allocate(std::size_t bytes, const std::string& what) {
  require_context();
  if (bytes > free_bytes()) throw DeviceError("allocating " + what + " failed: out of memory", 2);
  auto buffer = std::make_unique<FakeBuffer>(*this, bytes);
  if (allocated) allocated(what, buffer->address());
  return buffer;
}

void FakeDevice::upload(Address to, std::span<const std::byte> from) {
  require_context();
  std::memcpy(at<std::byte>(to), from.data(), from.size());
}

void FakeDevice::download(std::span<std::byte> to, Address from) {
  require_context();
  std::memcpy(to.data(), at<const std::byte>(from), to.size());
}

void FakeDevice::fill(Address to, std::uint8_t byte, std::size_t bytes) {
  require_context();
  std::memset(at<std::byte>(to), byte, bytes);
}

void FakeDevice::copy(Address to, Address from, std::size_t bytes) {
  require_context();
  std::memmove(at<std::byte>(to), at<const std::byte>(from), bytes);
}

std::unique_ptr<DeviceExecutable> FakeDevice::load(std::span<const std::byte> binary,
                                                   const std::vector<KernelFacts>& kernels,
                                                   const OpInterface& interface, const ImplementationRecipe& recipe,
                                                   const Config& config, const Problem& problem) {
  require_context();
  if (before_load) before_load();
  std::string source = text_of(binary);
  if (fault_of(source) == Fault::refused) throw DeviceError("loading failed: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", 701);
  auto planned = make_plan(interface, recipe, config, problem, facts_);
  if (const auto* illegal = std::get_if<Illegal>(&planned)) throw UsageError(illegal->reason);
  return std::make_unique<FakeExecutable>(*this, std::move(std::get<LaunchPlan>(planned)), std::move(source),
                                          kernels.at(0).entry, problem.dims.at(0).second);
}

std::unique_ptr<Rounds> FakeDevice::rounds(DeviceExecutable& executable, const RoundsRequest& request) {
  require_context();
  // A trial's first, loose rounds only estimate a launch's time.
  if (!request.loose) {
    if (before_timing) before_timing();
    ++timed;
  }
  return std::make_unique<FakeRounds>(
      1000.0 * dynamic_cast<FakeExecutable&>(executable).speed + options_.round_overhead_ns / request.launches,
      options_.noise > 0 ? this : nullptr);
}

std::unique_ptr<Rounds> FakeDevice::empty_rounds(MeasureMode, int) {
  ++empties_timed;
  return std::make_unique<FakeRounds>(100.0);
}

std::unique_ptr<Rounds> FakeDevice::copy_rounds(MeasureMode, int launches, std::span<const Address>,
                                                std::span<const Address>, std::size_t) {
  require_context();
  if (launches > 1) ++copies_timed;
  return std::make_unique<FakeRounds>(2500.0);
}

}  // namespace tilewright::testing
