// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cache/driver/driver_table.hpp"
#include "cache/driver/executable.hpp"
#include "cache/driver/nvml.hpp"
#include "cache/driver/stream.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/device/cuda_rounds.hpp"
#include "tuner/device/tensor_tools.hpp"

namespace tilewright {
namespace {

// The kernel for measuring the floor. The driver translates it for the GPU.
constexpr char kEmptyKernel[] =
    ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry tilewright_empty()\n{\n  ret;\n}\n";

class CudaBuffer : public DeviceBuffer {
 public:
  explicit CudaBuffer(cuda::Buffer buffer) : buffer_(std::move(buffer)) {}
  [[nodiscard]] Address address() const noexcept override { return buffer_.address(); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return buffer_.bytes(); }

 private:
  cuda::Buffer buffer_;
};

class CudaExecutable : public DeviceExecutable {
 public:
  CudaExecutable(const cuda::Driver& driver, const cuda::OwnedStream& stream, cuda::Executable executable,
                 std::string name)
      : driver_(driver), stream_(stream), executable_(std::move(executable)), name_(std::move(name)) {}

  [[nodiscard]] const LaunchPlan& plan() const noexcept override { return executable_.plan(); }

  void run(const LaunchArgs& args) override {
    enqueue(stream_.get(), args);
    stream_.synchronize("running " + name_);
  }

  void enqueue(cuda::Stream stream, const LaunchArgs& args) const {
    if (args.values.size() != plan().args.size() || args.workspaces.size() != plan().workspaces.size()) {
      throw UsageError(fmt::format("launching {} with {} arguments and {} workspaces: it takes {} and {}", name_,
                                   args.values.size(), args.workspaces.size(), plan().args.size(),
                                   plan().workspaces.size()));
    }
    std::vector<void*> pointers;
    pointers.reserve(args.values.size());
    for (const std::uint64_t& value : args.values) pointers.push_back(const_cast<std::uint64_t*>(&value));
    driver_.check(executable_.launch(stream, pointers, args.workspaces), "cuLaunchKernelEx", "launching " + name_);
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Bytes of all tensors of a launch.
  [[nodiscard]] std::int64_t tensor_bytes() const noexcept {
    std::int64_t bytes = 0;
    for (const PlannedArg& arg : plan().args) {
      if (arg.role != ArgRole::scalar) bytes += static_cast<std::int64_t>(arg.bytes);
    }
    return bytes;
  }

 private:
  const cuda::Driver& driver_;
  const cuda::OwnedStream& stream_;
  cuda::Executable executable_;
  std::string name_;
};

class CudaDevice : public Device {
 public:
  CudaDevice(const cuda::Driver& driver, int index)
      : driver_(driver),
        context_(driver, index),
        stream_(driver),
        facts_(driver.facts(index)),
        name_(fmt::format("cuda:{}", index)),
        uuid_(driver.uuid(index)),
        nvml_(uuid_),
        flush_(driver, facts_) {}

  [[nodiscard]] const DeviceFacts& facts() const noexcept override { return facts_; }
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] const std::string& gpu_uuid() const noexcept override { return uuid_; }
  [[nodiscard]] int driver_version() const noexcept override { return driver_.version(); }
  [[nodiscard]] DeviceReadings readings() override { return nvml_.read(); }
  [[nodiscard]] std::string unwatched() const override { return nvml_.why(); }

  // Created on first use: a machine without NVRTC can load and measure stored binaries.
  [[nodiscard]] Compiler& compiler() override {
    if (!compiler_) compiler_.emplace();
    return *compiler_;
  }

  [[nodiscard]] std::size_t free_bytes() override {
    std::size_t free = 0, total = 0;
    driver_.call("asking for free memory", driver_.table().mem_get_info, &free, &total);
    return free;
  }

  [[nodiscard]] std::unique_ptr<DeviceBuffer> allocate(std::size_t bytes, const std::string& what) override {
    return std::make_unique<CudaBuffer>(cuda::Buffer(driver_, bytes, what));
  }
  void upload(Address to, std::span<const std::byte> from) override {
    if (from.empty()) return;
    driver_.call("copying to the GPU", driver_.table().memcpy_htod_async, to, static_cast<const void*>(from.data()),
                 from.size(), stream_.get());
    stream_.synchronize("copying to the GPU");
  }
  void download(std::span<std::byte> to, Address from) override {
    if (to.empty()) return;
    driver_.call("copying from the GPU", driver_.table().memcpy_dtoh_async, static_cast<void*>(to.data()), from,
                 to.size(), stream_.get());
    stream_.synchronize("copying from the GPU");
  }
  void fill(Address to, std::uint8_t byte, std::size_t bytes) override {
    if (bytes == 0) return;
    driver_.call("filling memory", driver_.table().memset_d8_async, to, static_cast<unsigned char>(byte), bytes,
                 stream_.get());
  }
  void copy(Address to, Address from, std::size_t bytes) override { enqueue_copy(stream_.get(), to, from, bytes); }

  [[nodiscard]] std::unique_ptr<DeviceExecutable> load(std::span<const std::byte> binary,
                                                       const std::vector<KernelFacts>& kernels,
                                                       const OpInterface& interface, const ImplementationRecipe& recipe,
                                                       const Config& config, const Problem& problem) override {
    const std::string name = fmt::format("{} on {}", config.text(), problem.key());
    try {
      auto module = std::make_shared<const cuda::Module>(driver_, binary, name);
      cuda::Executable executable(driver_, std::move(module), kernels, interface, recipe, config, problem, facts_);
      return std::make_unique<CudaExecutable>(driver_, stream_, std::move(executable), name);
    } catch (const DeviceError&) {
      throw;
    } catch (const UsageError&) {
      throw;
    } catch (const Error& illegal) {
      throw UsageError(illegal.what());
    }
  }

  [[nodiscard]] std::unique_ptr<Rounds> rounds(DeviceExecutable& executable, const RoundsRequest& request) override {
    const auto& ready = dynamic_cast<const CudaExecutable&>(executable);
    const std::vector<LaunchArgs> sets(request.sets.begin(), request.sets.end());
    const auto set_count = static_cast<int>(sets.size());
    if (set_count == 0 || request.launches < 1 || (!request.restore.empty() && request.launches > set_count)) {
      throw UsageError(fmt::format("timing {}: {} launches over {} argument sets{}", ready.name(), request.launches,
                                   set_count, request.restore.empty() ? "" : ", of which each may be used once"));
    }
    const std::vector<Restore> restore(request.restore.begin(), request.restore.end());
    const EnqueueLaunch launch = [&ready, sets](cuda::Stream stream, int index) {
      ready.enqueue(stream, sets[static_cast<std::size_t>(index) % sets.size()]);
    };
    return make_rounds({.mode = request.mode,
                        .launches = request.launches,
                        .sets = set_count,
                        .bytes_per_set = ready.tensor_bytes(),
                        .loose = request.loose,
                        .what = "timing " + ready.name()},
                       launch, restore);
  }

  [[nodiscard]] std::unique_ptr<Rounds> empty_rounds(MeasureMode mode, int launches) override {
    if (!empty_module_) {
      empty_module_ = std::make_shared<const cuda::Module>(driver_, std::as_bytes(std::span<const char>(kEmptyKernel)),
                                                           "the empty kernel");
    }
    const cuda::Function function = empty_module_->function("tilewright_empty", 0, false);
    const EnqueueLaunch launch = [this, function](cuda::Stream stream, int) {
      const cuda::LaunchConfig config{.grid_x = 1,
                                      .grid_y = 1,
                                      .grid_z = 1,
                                      .block_x = 32,
                                      .block_y = 1,
                                      .block_z = 1,
                                      .shared_bytes = 0,
                                      .stream = stream,
                                      .attributes = nullptr,
                                      .attribute_count = 0};
      driver_.call("launching the empty kernel", driver_.table().launch_kernel_ex, &config, function,
                   static_cast<void**>(nullptr), static_cast<void**>(nullptr));
    };
    return make_rounds({.mode = mode, .launches = launches, .what = "timing the empty kernel"}, launch, {});
  }

  [[nodiscard]] std::unique_ptr<Rounds> copy_rounds(MeasureMode mode, int launches,
                                                    std::span<const Address> destinations,
                                                    std::span<const Address> sources, std::size_t bytes) override {
    if (destinations.empty() || destinations.size() != sources.size() || launches < 1) {
      throw UsageError(fmt::format("timing the memory copy: {} launches from {} sources to {} destinations", launches,
                                   sources.size(), destinations.size()));
    }
    const EnqueueLaunch launch = [this, bytes, to = std::vector<Address>(destinations.begin(), destinations.end()),
                                  from = std::vector<Address>(sources.begin(), sources.end())](cuda::Stream stream,
                                                                                               int index) {
      const std::size_t set = static_cast<std::size_t>(index) % to.size();
      enqueue_copy(stream, to[set], from[set], bytes);
    };
    return make_rounds({.mode = mode,
                        .launches = launches,
                        .sets = static_cast<int>(sources.size()),
                        .bytes_per_set = 2 * static_cast<std::int64_t>(bytes),
                        .what = "timing the memory copy"},
                       launch, {});
  }

  [[nodiscard]] TensorTools& tools() override {
    if (tools_) return *tools_;
    // Without a compiler the host does it: slowly for large tensors, but correctly.
    if (NvrtcLibrary::find(nvrtc_search_places()) == nullptr) return Device::tools();
    tools_ = make_kernel_tools(*this);
    return *tools_;
  }

 private:
  struct RoundPlan {
    MeasureMode mode = MeasureMode::cold;
    int launches = 1;
    int sets = 1;
    std::int64_t bytes_per_set = 0;
    bool loose = false;
    std::string what;
  };

  void enqueue_copy(cuda::Stream stream, Address to, Address from, std::size_t bytes) const {
    if (bytes == 0) return;
    driver_.call("copying on the GPU", driver_.table().memcpy_dtod_async, to, from, bytes, stream);
  }

  // Chooses how a round begins, so that all launches find the caches as the mode says (docs/measuring.md).
  std::unique_ptr<Rounds> make_rounds(const RoundPlan& plan, const EnqueueLaunch& launch,
                                      const std::vector<Restore>& restore) {
    const bool rotates = std::min(plan.launches, plan.sets) * plan.bytes_per_set > 2 * facts_.l2_bytes;
    const bool has_data = plan.bytes_per_set > 0;
    const bool flush =
        has_data && (plan.loose || plan.mode == MeasureMode::events || (plan.mode == MeasureMode::cold && !rotates));
    EnqueueBefore before;
    if (flush || !restore.empty()) {
      before = [this, flush, restore](cuda::Stream stream) {
        for (const Restore& each : restore) enqueue_copy(stream, each.destination, each.source, each.bytes);
        if (flush) flush_.enqueue(stream);
      };
    }
    if (plan.loose || plan.mode == MeasureMode::events) {
      const int together = plan.mode == MeasureMode::events ? 1 : plan.launches;
      return launched_rounds(driver_, stream_, {plan.launches, together, plan.what}, launch, std::move(before));
    }
    // If `before` restores memory once per round, nothing may run ahead of the round.
    const int lead = before ? 0 : std::clamp(plan.launches / 8, 1, std::max(plan.sets, 128));
    return graph_rounds(driver_, stream_, {plan.launches, lead, plan.what}, launch, std::move(before));
  }

  const cuda::Driver& driver_;
  cuda::PrimaryContext context_;
  cuda::OwnedStream stream_;
  DeviceFacts facts_;
  std::string name_;
  std::string uuid_;
  Nvml nvml_;
  CacheFlush flush_;
  std::optional<NvrtcCompiler> compiler_;
  std::shared_ptr<const cuda::Module> empty_module_;
  // Last, because its memory belongs to this device.
  std::unique_ptr<TensorTools> tools_;
};

}  // namespace

std::unique_ptr<Device> open_cuda_device(int index) {
  if (std::string why; cuda::Driver::find(&why) == nullptr) {
    throw DeviceError(why +
                      "; install NVIDIA's driver, name its libcuda.so.1 in TILEWRIGHT_LIBCUDA, or use --device "
                      "cpu for the emulator");
  }
  const cuda::Driver& driver = cuda::Driver::get();
  const int count = driver.device_count();
  if (index < 0 || index >= count) {
    throw DeviceError(count == 0
                          ? fmt::format("there is no cuda:{}: the driver {} sees no GPU; use --device cpu for "
                                        "the emulator",
                                        index, driver.path())
                          : fmt::format("there is no cuda:{}: this machine has cuda:0 to cuda:{}", index, count - 1));
  }
  return std::make_unique<CudaDevice>(driver, index);
}

std::optional<DeviceSight> see_cuda_device(int index) {
  const cuda::Driver* driver = cuda::Driver::find();
  const int count = driver == nullptr ? 0 : driver->device_count();
  if (index < 0 || index >= count) return std::nullopt;
  return DeviceSight{driver->facts(index), driver->uuid(index), count};
}

int count_cuda_devices() {
  const cuda::Driver* driver = cuda::Driver::find();
  return driver == nullptr ? 0 : driver->device_count();
}

bool has_cuda_device(std::string* why) {
  const cuda::Driver* driver = cuda::Driver::find(why);
  if (driver == nullptr) return false;
  if (driver->device_count() > 0) return true;
  if (why != nullptr) *why = fmt::format("the CUDA driver {} sees no GPU", driver->path());
  return false;
}

}  // namespace tilewright
