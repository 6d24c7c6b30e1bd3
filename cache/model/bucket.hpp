// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

/// Buckets of extents that change from call to call: powers of two and the halves between, 1 2 3 4 6 8 12 16 24 … Pure.
namespace tilewright {

/// The least bucket ≥ `extent`. An extent below 1 stays; one beyond the last bucket gives the largest number.
[[nodiscard]] constexpr std::int64_t bucket_of(std::int64_t extent) noexcept {
  constexpr std::int64_t kLast = std::int64_t{3} << 61;
  if (extent < 3) return extent;
  if (extent > kLast) return std::numeric_limits<std::int64_t>::max();
  // With 2^k < extent ≤ 2^(k + 1), `power` is 2^k and `between` is 3 · 2^(k - 1).
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(extent - 1)));
  const std::int64_t between = power + power / 2;
  return extent <= between ? between : power * 2;
}

}  // namespace tilewright
