// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/cpu_device.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tuner/compile/host_compiler.hpp"
#include "tuner/device/cpu/emulator.hpp"
#include "tuner/device/fenced_memory.hpp"

namespace tilewright {
namespace {

std::byte* pointer(Address address) { return reinterpret_cast<std::byte*>(address); }

class CpuBuffer : public DeviceBuffer {
 public:
  CpuBuffer(std::size_t bytes, const std::string& what) : memory_(bytes, what) {}
  [[nodiscard]] Address address() const noexcept override { return reinterpret_cast<Address>(memory_.begin()); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return memory_.bytes(); }

 private:
  FencedMemory memory_;
};

class CpuExecutable : public DeviceExecutable {
 public:
  CpuExecutable(std::shared_ptr<const EmulatorModule> module, LaunchPlan plan, std::vector<std::string> symbols,
                std::vector<std::int64_t> dims, std::string name)
      : module_(std::move(module)),
        plan_(std::move(plan)),
        symbols_(std::move(symbols)),
        dims_(std::move(dims)),
        name_(std::move(name)) {}

  [[nodiscard]] const LaunchPlan& plan() const noexcept override { return plan_; }

  void run(const LaunchArgs& args) override {
    if (args.values.size() != plan_.args.size() || args.workspaces.size() != plan_.workspaces.size()) {
      throw UsageError(fmt::format("launching {} with {} arguments and {} workspaces: it takes {} and {}", name_,
                                   args.values.size(), args.workspaces.size(), plan_.args.size(),
                                   plan_.workspaces.size()));
    }
    for (std::size_t i = 0; i < plan_.workspaces.size(); ++i) {
      if (plan_.workspaces[i].zero == WorkspaceRecipe::Zero::each) {
        std::memset(pointer(args.workspaces[i]), 0, plan_.workspaces[i].bytes);
      }
    }
    // Each run orders threads differently, which exposes dependence on the order. An identical second run repeats it.
    ++runs_;
    for (std::size_t i = 0; i < plan_.kernels.size(); ++i) {
      std::vector<void*> params = params_of(plan_.kernels[i], args);
      EmulatedLaunch launch;
      launch.entry = symbols_[i];
      launch.grid = plan_.kernels[i].grid;
      launch.block = plan_.kernels[i].block;
      launch.cluster = plan_.kernels[i].cluster;
      launch.shared_bytes = plan_.kernels[i].shared_bytes;
      launch.params = params.data();
      launch.seed = runs_;
      const EmulatedOutcome outcome = tilewright::run(*module_, launch);
      if (!outcome.ok()) {
        throw DeviceError(fmt::format("running {} failed: {}: {}", name_, to_string(outcome.status), outcome.text));
      }
    }
  }

 private:
  std::vector<void*> params_of(const PlannedKernel& kernel, const LaunchArgs& args) {
    // An argument that the problem omits: a null pointer, a scalar 0 or a map of zeros, whichever the kernel reads.
    alignas(64) static constexpr std::array<std::byte, 128> kAbsent{};
    std::vector<void*> params;
    for (const PlannedParam& param : kernel.params) {
      if (param.is_absent()) {
        params.push_back(const_cast<std::byte*>(kAbsent.data()));
        continue;
      }
      switch (param.kind) {
        case KernelParam::Kind::ptr:
        case KernelParam::Kind::scalar:
          params.push_back(const_cast<std::uint64_t*>(&args.values[param.index]));
          break;
        case KernelParam::Kind::dim:
          params.push_back(&dims_[param.index]);
          break;
        case KernelParam::Kind::workspace:
          params.push_back(const_cast<Address*>(&args.workspaces[param.index]));
          break;
        case KernelParam::Kind::value:
          params.push_back(&plan_.values[param.index].value);
          break;
        case KernelParam::Kind::map:
          break;  // refused when loaded
      }
    }
    return params;
  }

  std::shared_ptr<const EmulatorModule> module_;
  LaunchPlan plan_;
  std::vector<std::string> symbols_;
  std::vector<std::int64_t> dims_;
  std::string name_;
  std::uint64_t runs_ = 0;
};

/// This thread's processor time. The emulator runs only on this thread, so a launch's time excludes the machine's other
/// work, mostly compiling.
double thread_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Launches one after the other. Returns the mean time of a launch, without `before`.
class LoopRounds : public Rounds {
 public:
  LoopRounds(int launches, std::function<void(int)> launch, std::function<void()> before)
      : launches_(launches), launch_(std::move(launch)), before_(std::move(before)) {}

  double run() override {
    if (before_) before_();
    double total = 0;
    for (int i = 0; i < launches_; ++i) {
      const double start = thread_ns();
      launch_(i);
      total += thread_ns() - start;
    }
    return total / launches_;
  }

 private:
  int launches_;
  std::function<void(int)> launch_;
  std::function<void()> before_;
};

// As many blocks as all SMs of the emulator's facts can hold at once.
std::int64_t resident_blocks(const DeviceFacts& facts, const PlannedKernel& kernel) {
  const std::int64_t threads = std::int64_t{kernel.block[0]} * kernel.block[1] * kernel.block[2];
  const std::int64_t by_threads = facts.max_threads_per_sm / std::max<std::int64_t>(threads, 1);
  const std::int64_t by_shared = facts.shared_per_sm / std::max<std::int64_t>(kernel.shared_bytes, 1);
  return facts.sm_count * std::max<std::int64_t>(1, std::min({by_threads, by_shared, std::int64_t{32}}));
}

/// The memory available without swapping: MemAvailable, which counts droppable caches.
std::size_t available_memory() {
  static constexpr std::string_view kLine = "MemAvailable:";
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kLine)) return std::strtoull(line.c_str() + kLine.size(), nullptr, 10) * 1024;
  }
  const auto pages = ::sysconf(_SC_AVPHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : 0;
}

class CpuDevice : public Device {
 public:
  [[nodiscard]] const DeviceFacts& facts() const noexcept override { return facts_; }
  [[nodiscard]] std::string_view name() const noexcept override { return "cpu"; }
  [[nodiscard]] const std::string& gpu_uuid() const noexcept override { return no_uuid_; }
  [[nodiscard]] int driver_version() const noexcept override { return 0; }
  [[nodiscard]] DeviceReadings readings() override { return {}; }

  // Created on first use: a machine without a compiler can run stored modules.
  [[nodiscard]] Compiler& compiler() override {
    if (!compiler_) compiler_.emplace();
    return *compiler_;
  }

  [[nodiscard]] std::size_t free_bytes() override { return available_memory(); }
  [[nodiscard]] std::unique_ptr<DeviceBuffer> allocate(std::size_t bytes, const std::string& what) override {
    // The host would overcommit, and kill the process on use.
    if (const std::size_t free = available_memory(); bytes > free) {
      throw DeviceError(fmt::format("allocating {} bytes of memory for {} failed: {} are available", bytes, what, free),
                        kOutOfMemory);
    }
    return std::make_unique<CpuBuffer>(bytes, what);
  }
  void upload(Address to, std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(pointer(to), from.data(), from.size());
  }
  void download(std::span<std::byte> to, Address from) override {
    if (!to.empty()) std::memcpy(to.data(), pointer(from), to.size());
  }
  void fill(Address to, std::uint8_t byte, std::size_t bytes) override {
    if (bytes != 0) std::memset(pointer(to), byte, bytes);
  }
  void copy(Address to, Address from, std::size_t bytes) override {
    if (bytes != 0) std::memmove(pointer(to), pointer(from), bytes);
  }

  [[nodiscard]] std::unique_ptr<DeviceExecutable> load(std::span<const std::byte> binary,
                                                       const std::vector<KernelFacts>& kernels,
                                                       const OpInterface& interface, const ImplementationRecipe& recipe,
                                                       const Config& config, const Problem& problem) override {
    const std::string name = fmt::format("{} on {}", config.text(), problem.key());
    Residency residency;
    residency.resident_blocks = [this](const PlannedKernel& kernel) { return resident_blocks(facts_, kernel); };
    residency.max_active_clusters = [this](const PlannedKernel& kernel) {
      const std::int64_t blocks = std::int64_t{kernel.cluster[0]} * kernel.cluster[1] * kernel.cluster[2];
      return std::max<std::int64_t>(1, resident_blocks(facts_, kernel) / blocks);
    };
    auto planned = make_plan(interface, recipe, config, problem, facts_, &residency);
    if (const auto* illegal = std::get_if<Illegal>(&planned)) {
      throw UsageError(fmt::format("{} cannot serve {}: {}", config.text(), problem.key(), illegal->reason));
    }
    auto& plan = std::get<LaunchPlan>(planned);
    if (!plan.maps.empty()) {
      throw UsageError(fmt::format("{} uses tensor maps, which the emulator does not model", config.text()));
    }
    auto module = EmulatorModule::load(binary);
    std::vector<std::string> symbols;
    for (const PlannedKernel& kernel : plan.kernels) {
      const auto facts = std::find_if(kernels.begin(), kernels.end(),
                                      [&](const KernelFacts& each) { return each.entry == kernel.entry; });
      if (facts == kernels.end() || module->find(facts->symbol) == nullptr) {
        throw DeviceError(fmt::format("the binary of {} has no kernel '{}': it was built from another definition",
                                      config.text(), kernel.entry));
      }
      symbols.push_back(facts->symbol);
    }
    return std::make_unique<CpuExecutable>(std::move(module), std::move(plan), std::move(symbols), shape_of(problem),
                                           name);
  }

  [[nodiscard]] std::unique_ptr<Rounds> rounds(DeviceExecutable& executable, const RoundsRequest& request) override {
    std::vector<LaunchArgs> sets(request.sets.begin(), request.sets.end());
    if (sets.empty() || request.launches < 1 ||
        (!request.restore.empty() && request.launches > static_cast<int>(sets.size()))) {
      throw UsageError(fmt::format("timing: {} launches over {} argument sets{}", request.launches, sets.size(),
                                   request.restore.empty() ? "" : ", of which each may be used once"));
    }
    std::function<void()> before;
    if (!request.restore.empty()) {
      before = [this, restore = std::vector<Restore>(request.restore.begin(), request.restore.end())] {
        for (const Restore& each : restore) copy(each.destination, each.source, each.bytes);
      };
    }
    return std::make_unique<LoopRounds>(
        request.launches,
        [&executable, sets = std::move(sets)](int i) {
          executable.run(sets[static_cast<std::size_t>(i) % sets.size()]);
        },
        std::move(before));
  }

  [[nodiscard]] std::unique_ptr<Rounds> empty_rounds(MeasureMode, int launches) override {
    // Two clock readings with nothing between them: a launch costs only the call.
    return std::make_unique<LoopRounds>(
        launches, [](int) {}, nullptr);
  }

  [[nodiscard]] std::unique_ptr<Rounds> copy_rounds(MeasureMode, int launches, std::span<const Address> destinations,
                                                    std::span<const Address> sources, std::size_t bytes) override {
    if (destinations.empty() || destinations.size() != sources.size() || launches < 1) {
      throw UsageError(fmt::format("timing the memory copy: {} launches from {} sources to {} destinations", launches,
                                   sources.size(), destinations.size()));
    }
    return std::make_unique<LoopRounds>(
        launches,
        [this, bytes, to = std::vector<Address>(destinations.begin(), destinations.end()),
         from = std::vector<Address>(sources.begin(), sources.end())](int i) {
          const std::size_t set = static_cast<std::size_t>(i) % to.size();
          copy(to[set], from[set], bytes);
        },
        nullptr);
  }

 private:
  DeviceFacts facts_ = emulator_facts();
  std::string no_uuid_;
  std::optional<HostCompiler> compiler_;
};

}  // namespace

std::unique_ptr<Device> open_cpu_device() { return std::make_unique<CpuDevice>(); }

}  // namespace tilewright
