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

/// Measures ceilings. Of memory-bound problems: the time to move as many bytes in the nearest read/write ratio, by the
/// `copy` op's best config and, for equal reads and writes, by the device's own copy, timed like the problem's configs.
/// Of compute: the rate of the device unit that the problem uses, by the ops `fma` and `mma`.
namespace tilewright {

/// The op whose best time is a memory ceiling.
inline constexpr const char* kCopyOp = "copy";

/// The op whose best rate is that of `unit` (OpDefinition::unit_of): `fma` for fp32, else `mma`.
[[nodiscard]] const char* op_of_rate(std::string_view unit) noexcept;

/// The first of the op's default shapes, with the dtype that uses the unit; nullopt if there is none.
[[nodiscard]] std::optional<Problem> rate_problem(const OpDefinition& op, std::string_view unit);

/// Whether the copy op (perhaps a user's own) can read this many bytes per byte written.
[[nodiscard]] bool can_read(const OpInterface& copy, int reads);

/// The problem of the copy op that moves `bytes` in all, `reads` read per one written, with elements of `dtype` if the
/// op has that type. Rounds down to whole elements, at least one.
[[nodiscard]] Problem copy_problem(const OpInterface& copy, DType dtype, std::int64_t bytes, int reads);

/// Nanoseconds of a device-to-device copy that reads and writes `bytes` together and rotates over as many buffers as a
/// kernel's inputs. Throws DeviceError if memory runs out.
[[nodiscard]] double memcpy_ns(Device& device, std::int64_t bytes, MeasureMode mode, const StopRule& stop,
                               const std::function<bool()>& interrupted);

}  // namespace tilewright
