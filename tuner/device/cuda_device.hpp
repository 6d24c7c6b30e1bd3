// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "tuner/device/device.hpp"

/// A GPU through the driver API (cache/driver), for the thread that opens it. All work goes in order through one
/// stream: `fill` and `copy` return before they finish, calls that return a result wait.
namespace tilewright {

/// Retains the primary context of GPU `index`. Throws DeviceError if there is no driver or no such GPU, and names the
/// GPUs present.
[[nodiscard]] std::unique_ptr<Device> open_cuda_device(int index);

/// Nullopt if there is no GPU with this index. Makes no context.
[[nodiscard]] std::optional<DeviceSight> see_cuda_device(int index);

/// The number of GPUs that the driver sees; 0 without a driver.
[[nodiscard]] int count_cuda_devices();

/// Whether there is a driver with at least one GPU. If not, `why` receives what is missing.
[[nodiscard]] bool has_cuda_device(std::string* why = nullptr);

}  // namespace tilewright
