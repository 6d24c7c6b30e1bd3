// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "cache/model/records.hpp"
#include "tuner/definition/definition.hpp"
#include "tuner/device/device.hpp"
#include "tuner/measure/measure.hpp"

/// The ceiling of a memory-bound problem: as many bytes, read and written in the nearest ratio, moved by the best
/// config of the `copy` op and, where as many are read as written, by the device's own copy, each by the method by
/// which the problem's configs are timed. And the rate of the device's unit that the problem computes with, by the ops
/// `fma` and `mma`: where the two meet is the ridge point.
namespace tilewright {

/// The name of the op whose best time is a ceiling.
inline constexpr const char* kCopyOp = "copy";

/// The op whose best rate is that of `unit` (OpDefinition::unit_of): `fma` for fp32, else `mma`.
[[nodiscard]] const char* op_of_rate(std::string_view unit) noexcept;

/// The first of the op's own shapes, of the dtype that it computes on that unit; nothing where it has none.
[[nodiscard]] std::optional<Problem> rate_problem(const OpDefinition& op, std::string_view unit);

/// True when the copy op (a user's own may hide the built-in one) can read so many bytes for each one written.
[[nodiscard]] bool can_read(const OpInterface& copy, int reads);

/// The problem of the copy op that moves `bytes` in all, `reads` of them read for each one written, with elements of
/// `dtype` where the op has that type. Bytes beyond whole elements are left out; there is one element at least.
[[nodiscard]] Problem copy_problem(const OpInterface& copy, DType dtype, std::int64_t bytes, int reads);

/// Nanoseconds of a device-to-device copy that reads and writes `bytes` together, rotating over as many buffers as a
/// kernel's inputs would. Throws DeviceError when memory does not suffice.
[[nodiscard]] double memcpy_ns(Device& device, std::int64_t bytes, MeasureMode mode, const StopRule& stop,
                               const std::function<bool()>& interrupted);

}  // namespace tilewright
