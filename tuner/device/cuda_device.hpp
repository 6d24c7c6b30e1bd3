// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "tuner/device/device.hpp"

/// A GPU through the driver API (cache/driver), for the thread that opens it. Work goes in order through one stream:
/// `fill` and `copy` return before they are done, everything that gives an answer waits.
namespace tilewright {

/// Retains the primary context of GPU `index`. Throws DeviceError when there is no driver or no such GPU, with those
/// that there are.
[[nodiscard]] std::unique_ptr<Device> open_cuda_device(int index);

/// Nothing where there is none of this index. Makes no context.
[[nodiscard]] std::optional<DeviceSight> see_cuda_device(int index);

/// The number of GPUs that the driver sees; 0 without a driver.
[[nodiscard]] int count_cuda_devices();

/// True when there is a driver with at least one GPU; else `why` says what is missing.
[[nodiscard]] bool has_cuda_device(std::string* why = nullptr);

}  // namespace tilewright
