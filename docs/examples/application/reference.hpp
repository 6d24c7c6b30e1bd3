// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

/// The example's bf16 numbers (the upper half of a float) and its reference softmax, on the CPU. Functions without
/// state.
using bf16 = std::uint16_t;

inline float to_float(bf16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16); }

/// Rounds to nearest, ties to even; for finite numbers.
inline bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<bf16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// The largest error of a row y = softmax(x), in units of what is allowed: 8e-3 of the true value plus 1e-6. Infinite
/// for a NaN.
inline double row_error(std::span<const bf16> x, std::span<const bf16> y) {
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double worst = 0;
  for (const bf16 value : x) max = std::max(max, double{to_float(value)});
  for (const bf16 value : x) sum += std::exp(to_float(value) - max);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = std::exp(to_float(x[i]) - max) / sum;
    const double error = std::abs(to_float(y[i]) - expected) / (1e-6 + 8e-3 * expected);
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  return worst;
}
