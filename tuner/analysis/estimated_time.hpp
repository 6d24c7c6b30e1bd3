// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cache/predict/expected_time.hpp"

/// The expected time of an untuned shape with the error of such expectations around it. Pure.
namespace tilewright {

/// A time and the bounds that hold it in about 95 % of cases.
struct EstimatedTime {
  double ns = 0;
  double low_ns = 0;
  double high_ns = 0;
};

/// The fewest tuned shapes that an estimate is made of.
inline constexpr std::size_t kFewestAround = 5;

/// expected_time_ns(). Its error is twice the root mean square of the errors at the eight nearest shapes, each expected
/// by the others of `around`; it grows with the distance of `shape` from the range of their dims. `around` has the
/// nearest shape first, as WinnerSource::times_near(). Nullopt if it has fewer than kFewestAround.
[[nodiscard]] std::optional<EstimatedTime> estimated_time(std::span<const std::int64_t> shape,
                                                          const std::vector<TimedShape>& around);

}  // namespace tilewright
