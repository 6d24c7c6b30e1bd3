// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tuner/device/device.hpp"

/// The emulator as a device: host memory, and launches that run to their end on the calling thread. A kernel's misdeeds
/// (deadlock, misaligned access, time limit) are DeviceErrors in the emulator's words, and later launches are unharmed.
///
/// The emulator models no cache, so its modes `cold`, `hot` and `events` are one: a loop of launches, each timed by
/// what this thread ran. Buffers lie between pages without access: what leaves a buffer by more than its padding is a
/// segmentation fault and not another buffer's corruption.
namespace tilewright {

[[nodiscard]] std::unique_ptr<Device> open_cpu_device();

}  // namespace tilewright
