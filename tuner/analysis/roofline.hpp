// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/analysis/ceilings.hpp"
#include "tuner/definition/definition.hpp"

/// A time under the measured ceilings of its device: the bytes moved and operations computed, their bound, and the
/// share of the ceiling (docs/measuring.md). Values; pure but for `roofline_of`, which reads the cache.
namespace tilewright {

/// The roofline of a problem on a device; nothing where a value is not known.
struct Roofline {
  /// Bytes by the op's definition.
  std::optional<std::int64_t> bytes{};
  std::optional<std::int64_t> flops{};
  /// The ceiling of the same bytes in the same ratio on the same device, from the curve of its copies.
  std::optional<Ceiling> ceiling{};
  /// The device's rate of the unit that the problem's operations run on, or of fp32 where that one was not measured.
  std::optional<ComputeRate> rate{};
  /// Bytes and operations are the mean over so many kinds of data, and a time is of all of them.
  std::int64_t draws = 1;
};

/// Nothing is known where `definition` is null or of another interface.
[[nodiscard]] Roofline roofline_of(Ceilings& ceilings, const OpDefinition* definition,
                                   const std::string& interface_hash, const Problem& problem,
                                   const std::string& fingerprint, MeasureMode mode);

/// The bound that most of a time is spent on.
enum class Bound : std::uint8_t {
  launch,   ///< within twice an empty launch's time
  memory,   ///< its intensity is below the ridge point: moving the bytes takes longer than computing
  compute,  ///< above it
};
/// "launch", "memory", "compute".
[[nodiscard]] std::string_view name(Bound bound) noexcept;

/// Operations for each byte; nothing where either is not known.
[[nodiscard]] std::optional<double> intensity_of(const Roofline& roofline);
/// The intensity at which the rate and the ceiling take the same time; nothing where either is not known.
[[nodiscard]] std::optional<double> ridge_of(const Roofline& roofline);
/// Nothing where what it needs is not known.
[[nodiscard]] std::optional<Bound> bound_of(const Roofline& roofline, const Timing* timing);

/// The measured ceiling's time over this one; nothing where either is not known.
[[nodiscard]] std::optional<double> share_of_memory(const Roofline& roofline, double time_ns);
/// Operations a second over the rate. Beyond 1 for what tensor cores do where the rate is that of fp32.
[[nodiscard]] std::optional<double> share_of_compute(const Roofline& roofline, double time_ns);
/// The share of the ceiling that bounds the time. Nothing where launching bounds it, or where the ceiling cannot be its
/// own: it computes faster than in fp32, or moves its bytes faster than any copy did.
[[nodiscard]] std::optional<double> share_of_ceiling(const Roofline& roofline, const Timing* timing);
/// Not bound by compute, and more than 2 % faster than the ceiling.
[[nodiscard]] bool beyond_copies(const Roofline& roofline, const Timing* timing);
/// Bound by compute, and faster than the device's fp32 rate, which is the one that is known.
[[nodiscard]] bool beyond_fp32(const Roofline& roofline, const Timing* timing);

}  // namespace tilewright
