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

/// Relates a time to its device's measured ceilings: bytes moved, operations computed, their bound, and the share of
/// the ceiling (docs/measuring.md). Values; pure except `roofline_of`, which reads the cache.
namespace tilewright {

/// The roofline of a problem on a device. Unknown values are nullopt.
struct Roofline {
  /// Bytes by the op's definition.
  std::optional<std::int64_t> bytes{};
  std::optional<std::int64_t> flops{};
  /// The ceiling for the same bytes and ratio on the same device, from the curve of its copies.
  std::optional<Ceiling> ceiling{};
  /// The device's rate of the problem's unit, or of fp32 if that was not measured.
  std::optional<ComputeRate> rate{};
  /// The number of kinds of data over which bytes, operations and times are means.
  std::int64_t draws = 1;
  /// What they are; empty: not said.
  std::vector<std::string> draw_names{};
};

/// All values are unknown if `definition` is null or has another interface.
[[nodiscard]] Roofline roofline_of(Ceilings& ceilings, const OpDefinition* definition,
                                   const std::string& interface_hash, const Problem& problem,
                                   const std::string& fingerprint, MeasureMode mode);

/// What takes most of a time.
enum class Bound : std::uint8_t {
  launch,   ///< within twice an empty launch's time
  memory,   ///< intensity up to the ridge point: moving the bytes takes longer than computing
  compute,  ///< intensity above it
};
/// As "launch", "memory", "compute".
[[nodiscard]] std::string_view name(Bound bound) noexcept;

/// Operations per byte above the ridge of any GPU in f32, for where no ceiling was measured.
inline constexpr double kSurelyComputes = 32;
/// Operations per byte; nullopt if either is unknown.
[[nodiscard]] std::optional<double> intensity_of(const Roofline& roofline);
/// The intensity at which rate and ceiling take the same time; nullopt if either is unknown.
[[nodiscard]] std::optional<double> ridge_of(const Roofline& roofline);
/// Nullopt if a needed value is unknown.
[[nodiscard]] std::optional<Bound> bound_of(const Roofline& roofline, const Timing* timing);

/// The measured ceiling's time over this one; nullopt if either is unknown.
[[nodiscard]] std::optional<double> share_of_memory(const Roofline& roofline, double time_ns);
/// Operations per second over the rate. Above 1 for tensor cores if only the fp32 rate is known.
[[nodiscard]] std::optional<double> share_of_compute(const Roofline& roofline, double time_ns);
/// The share of the bounding ceiling. Nullopt if launching bounds the time, or if the ceiling does not apply: the
/// problem computes faster than fp32, or moves its bytes faster than any copy.
[[nodiscard]] std::optional<double> share_of_ceiling(const Roofline& roofline, const Timing* timing);
/// Not bound by compute or launching, and more than 2 % faster than the ceiling.
[[nodiscard]] bool beyond_copies(const Roofline& roofline, const Timing* timing);
/// Bound by compute, and faster than the device's fp32 rate, the only known rate.
[[nodiscard]] bool beyond_fp32(const Roofline& roofline, const Timing* timing);

}  // namespace tilewright
