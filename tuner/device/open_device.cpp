// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>

#include "tuner/device/cpu_device.hpp"
#include "tuner/device/cuda_device.hpp"

namespace tilewright {
namespace {

// The N of "cuda:N", or -1 if it is not a number.
int gpu_index(std::string_view text) {
  int index = -1;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), index);
  return failed == std::errc() && end == text.data() + text.size() && index >= 0 ? index : -1;
}

constexpr std::string_view kCuda = "cuda:";

}  // namespace

void check_device_name(std::string_view name) {
  if (name == "auto" || name == "cpu" || name == "cuda") return;
  if (!name.starts_with(kCuda)) {
    throw UsageError(fmt::format("'{}' is not a device{}", name,
                                 suggestion(std::string(name), {"auto", "cpu", "cuda", "cuda:0", "cuda:1"})));
  }
  if (gpu_index(name.substr(kCuda.size())) < 0) {
    throw UsageError(fmt::format("'{}' is not a device: after cuda: stands the GPU's number, as in cuda:0", name));
  }
}

std::optional<DeviceSight> see_device(std::string_view name) {
  if (name == "auto" || name == "cuda") return see_cuda_device(0);
  if (name.starts_with(kCuda)) return see_cuda_device(gpu_index(name.substr(kCuda.size())));
  return std::nullopt;
}

std::unique_ptr<Device> open_device(std::string_view name, std::string* said) {
  if (name == "cpu") return open_cpu_device();
  if (name == "cuda") return open_cuda_device(0);
  if (name == "auto") {
    std::string why;
    const bool has_gpu = has_cuda_device(&why);
    auto device = has_gpu ? open_cuda_device(0) : open_cpu_device();
    if (said != nullptr) {
      *said = has_gpu ? fmt::format("device: cuda:0, {}", device->facts().fingerprint())
                      : fmt::format("device: cpu (the emulator), since {}", why);
    }
    return device;
  }
  check_device_name(name);
  return open_cuda_device(gpu_index(name.substr(kCuda.size())));
}

}  // namespace tilewright
