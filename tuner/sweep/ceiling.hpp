// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "cache/store/records.hpp"
#include "tuner/bench/bench.hpp"
#include "tuner/definition/definition.hpp"
#include "tuner/device/device.hpp"

/// The ceiling of a memory-bound problem: as many bytes moved by the device's own copy and by the best config of the
/// `copy` op, each by the method by which the problem's configs are timed.
namespace tilewright {

/// The name of the op whose best time is a ceiling.
inline constexpr const char* kCopyOp = "copy";

/// The problem of the copy op that reads and writes `bytes` together, with elements of `dtype` where the op has that
/// type. An amount that is no whole number of elements twice over is rounded down, at least to one element.
[[nodiscard]] Problem copy_problem(const OpInterface& copy, DType dtype, std::int64_t bytes);

/// Nanoseconds of a device-to-device copy that reads and writes `bytes` together, rotating over as many buffers as a
/// kernel's inputs would. Throws DeviceError when memory does not suffice.
[[nodiscard]] double memcpy_ns(Device& device, std::int64_t bytes, MeasureMode mode, const StopRule& stop,
                               const std::function<bool()>& interrupted);

}  // namespace tilewright
