// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"

/// The direction of a problem's bytes, by its arguments. Memory that only reads is faster than memory that also writes,
/// so a ceiling must read and write in the problem's ratio. Pure functions.
namespace tilewright {

/// The bytes of a problem's arguments, small vectors included; gaps of pitched rows do not count.
struct Traffic {
  std::int64_t read = 0;
  std::int64_t written = 0;
};
[[nodiscard]] Traffic traffic_of(const OpInterface& interface, const Problem& problem);

/// The most inputs that the `copy` op sums.
inline constexpr int kMostReads = 3;
/// Bytes that a ceiling should read per byte that it writes: the whole number from 1 to kMostReads nearest to the
/// traffic's ratio, the smaller of two equally near.
[[nodiscard]] int nearest_reads(const Traffic& traffic) noexcept;

}  // namespace tilewright
