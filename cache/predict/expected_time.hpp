// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cache/model/problem.hpp"

/// The time that the fastest config is expected to take at an untuned shape. Pure.
namespace tilewright {

/// A tuned shape, its fastest config's time (above 0), and the launch's share of that.
struct TimedShape {
  ShapeDims dims;
  double median_ns = 0;
  double floor_ns = 0;
};

/// The most tuned shapes that an expectation is fitted to.
inline constexpr std::size_t kTimesAround = 64;

/// Above a launch, a time is taken for a product of powers of the dims, and of a factor for each time that 2 divides a
/// dim (three times at most). Powers and factors are fitted to the logarithms of the times `around` by ridge regression
/// (Hoerl and Kennard 1970), near shapes weighing more; without evidence the powers and factors are 1. The residual of
/// the four nearest and the launch's share are added. `around` has at least one shape, with as many dims as `shape`.
[[nodiscard]] double expected_time_ns(std::span<const std::int64_t> shape, const std::vector<TimedShape>& around);

}  // namespace tilewright
