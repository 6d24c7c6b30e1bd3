// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tuner/device/device.hpp"

/// The emulator as a device: host memory, and launches that run to completion on the calling thread. Kernel faults
/// (deadlock, misaligned access, time limit) are DeviceErrors with the emulator's message; later launches are unharmed.
///
/// The emulator models no cache, so modes `cold`, `hot` and `events` are the same: a loop of launches, each timed by
/// this thread's processor time. Buffers lie between inaccessible pages: an access past a buffer's padding is a
/// segmentation fault instead of another buffer's corruption.
namespace tilewright {

[[nodiscard]] std::unique_ptr<Device> open_cpu_device();

}  // namespace tilewright
