// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cache/model/device_name.hpp"
#include "tuner/device/cpu_device.hpp"
#include "tuner/device/cuda_device.hpp"

namespace tilewright {

void check_device_name(std::string_view name) {
  if (name == "auto" || name == "cpu" || name == "cuda") return;
  if (!name.starts_with("cuda:")) {
    throw UsageError(fmt::format("'{}' is not a device{}", name,
                                 suggestion(std::string(name), {"auto", "cpu", "cuda", "cuda:0", "cuda:1"})));
  }
  if (!gpu_index(name)) {
    throw UsageError(fmt::format("'{}' is not a device: after cuda: stands the GPU's number, as in cuda:0", name));
  }
}

std::optional<DeviceSight> see_device(std::string_view name) {
  if (name == "auto" || name == "cuda") return see_cuda_device(0);
  if (const std::optional<int> index = gpu_index(name)) return see_cuda_device(*index);
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
  return open_cuda_device(gpu_index(name).value());
}

}  // namespace tilewright
