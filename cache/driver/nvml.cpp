// SPDX-License-Identifier: Apache-2.0
#include "cache/driver/nvml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "cache/driver/shared_library.hpp"

namespace tilewright {

namespace {

using NvmlDevice = struct nvmlDevice_st*;
using Status = int;
constexpr Status kSuccess = 0;
/// The answer to a count of processes without room for the list.
constexpr Status kInsufficientSize = 7;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;
constexpr std::chrono::milliseconds kCountsAreGoodFor{100};

}  // namespace

struct Nvml::Impl {
  explicit Impl(const char* file) : library(file) {}
  ~Impl() {
    if (started) shutdown();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  SharedLibrary library;
  Status (*init)() = library.find<Status()>("nvmlInit_v2");
  Status (*shutdown)() = library.find<Status()>("nvmlShutdown");
  const char* (*error_string)(Status) = library.find<const char*(Status)>("nvmlErrorString");
  Status (*handle_by_uuid)(const char*,
                           NvmlDevice*) = library.find<Status(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByUUID");
  Status (*clock_info)(NvmlDevice, int,
                       unsigned*) = library.find<Status(NvmlDevice, int, unsigned*)>("nvmlDeviceGetClockInfo");
  Status (*temperature)(NvmlDevice, int,
                        unsigned*) = library.find<Status(NvmlDevice, int, unsigned*)>("nvmlDeviceGetTemperature");
  Status (*power_usage)(NvmlDevice, unsigned*) = library.find<Status(NvmlDevice, unsigned*)>("nvmlDeviceGetPowerUsage");
  /// The older name of nvmlDeviceGetCurrentClocksEventReasons; all drivers still have it.
  Status (*throttle_reasons)(NvmlDevice, unsigned long long*) =
      library.find<Status(NvmlDevice, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons");
  Status (*compute_processes)(NvmlDevice, unsigned*, void*) =
      library.find<Status(NvmlDevice, unsigned*, void*)>("nvmlDeviceGetComputeRunningProcesses_v3");
  bool started = false;
  int processes = -1;
  std::chrono::steady_clock::time_point counted{};
  NvmlDevice device = nullptr;
  std::string why;

  void open(const std::string& uuid) {
    if (!library) {
      why = fmt::format("NVML was not found: {}", library.why());
      return;
    }
    if (!library.missing().empty()) {
      why = fmt::format("{} lacks {}", library.file(), library.missing().front());
      return;
    }
    if (const Status status = init(); status != kSuccess) {
      why = fmt::format("NVML does not start: {}", error_string(status));
      return;
    }
    started = true;
    if (const Status status = handle_by_uuid(uuid.c_str(), &device); status != kSuccess) {
      device = nullptr;
      why = fmt::format("NVML does not know the GPU {}: {}", uuid, error_string(status));
    }
  }
};

Nvml::Nvml(const std::string& gpu_uuid) noexcept {
  try {
    const char* chosen = std::getenv("TILEWRIGHT_LIBNVML");
    impl_ = std::make_unique<Impl>(chosen != nullptr && *chosen != '\0' ? chosen : "libnvidia-ml.so.1");
    impl_->open(gpu_uuid);
  } catch (const std::exception&) {
    // Only out of memory can be the cause; readings are optional.
    impl_.reset();
  }
}

Nvml::~Nvml() = default;

const std::string& Nvml::why() const noexcept {
  static const std::string kNoMemory = "NVML was not opened: no memory";
  return impl_ ? impl_->why : kNoMemory;
}

DeviceReadings Nvml::read() const noexcept {
  DeviceReadings readings;
  if (!impl_ || impl_->device == nullptr) return readings;
  unsigned value = 0;
  if (impl_->clock_info(impl_->device, kClockSm, &value) == kSuccess) readings.sm_clock_mhz = static_cast<int>(value);
  if (impl_->clock_info(impl_->device, kClockMemory, &value) == kSuccess) {
    readings.memory_clock_mhz = static_cast<int>(value);
  }
  if (impl_->temperature(impl_->device, kTemperatureGpu, &value) == kSuccess) {
    readings.temperature_c = static_cast<int>(value);
  }
  if (impl_->power_usage(impl_->device, &value) == kSuccess) readings.power_mw = static_cast<int>(value);
  unsigned long long reasons = 0;
  if (impl_->throttle_reasons(impl_->device, &reasons) == kSuccess) readings.throttle_reasons = reasons;
  const auto now = std::chrono::steady_clock::now();
  if (now - impl_->counted > kCountsAreGoodFor) {
    impl_->processes = compute_processes();
    impl_->counted = now;
  }
  // In a container this process may not know the number that the driver lists it by. One of the listed is this process.
  if (impl_->processes >= 0) readings.other_processes = std::max(impl_->processes - 1, 0);
  return readings;
}

int Nvml::compute_processes() const noexcept {
  if (!impl_ || impl_->device == nullptr) return -1;
  unsigned count = 0;
  const Status status = impl_->compute_processes(impl_->device, &count, nullptr);
  return status == kSuccess || status == kInsufficientSize ? static_cast<int>(count) : -1;
}

}  // namespace tilewright
