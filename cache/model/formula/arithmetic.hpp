// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

/// 64-bit arithmetic with checked overflow: nullopt instead of a number. For formulas and sizes. Pure functions.
namespace tilewright::checked {

using Number = std::optional<std::int64_t>;

[[nodiscard]] constexpr Number add(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? Number() : result;
}

[[nodiscard]] constexpr Number subtract(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  return __builtin_sub_overflow(a, b, &result) ? Number() : result;
}

[[nodiscard]] constexpr Number multiply(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? Number() : result;
}

/// Truncated towards zero, as in C. `b` must not be 0; only -2^63 / -1 overflows.
[[nodiscard]] constexpr Number divide(std::int64_t a, std::int64_t b) noexcept {
  if (b == -1) return subtract(0, a);
  return a / b;
}

/// The remainder of divide(), with the sign of `a`. `b` must not be 0.
[[nodiscard]] constexpr std::int64_t remainder(std::int64_t a, std::int64_t b) noexcept {
  return b == -1 ? 0 : a % b;  // -2^63 % -1 traps on x86
}

/// The least whole number ≥ a / b. `b` must be > 0; cannot overflow.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b + (a % b > 0 ? 1 : 0);
}

/// The least multiple of `b` that is ≥ a. `b` must be > 0.
[[nodiscard]] constexpr Number round_up(std::int64_t a, std::int64_t b) noexcept { return multiply(ceil_div(a, b), b); }

/// The least power of two that is ≥ a; 1 for a ≤ 1. Overflows beyond 2^62.
[[nodiscard]] constexpr Number pow2_ceil(std::int64_t a) noexcept {
  std::int64_t power = 1;
  while (power < a) {
    if (power > std::numeric_limits<std::int64_t>::max() / 2) return {};
    power *= 2;
  }
  return power;
}

/// The exponent of the greatest power of two that is ≤ a, which must be ≥ 1.
[[nodiscard]] constexpr std::int64_t floor_log2(std::int64_t a) noexcept {
  std::int64_t exponent = 0;
  while ((a /= 2) > 0) ++exponent;
  return exponent;
}

}  // namespace tilewright::checked
