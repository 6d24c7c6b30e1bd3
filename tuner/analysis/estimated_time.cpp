// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/estimated_time.hpp"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

constexpr std::size_t kJudged = 8;
/// The root mean square error of an extrapolation, in natural logarithms of the time for each of a dim's ratio: of the
/// built-in ops' winners, two in three are within it.
constexpr double kBeyondRange = 0.25;
/// Two root mean squares have about 95 % of all errors.
constexpr double kBounds = 2;

/// How far the shape is from the range of the dims around, as a sum of natural logarithms.
double beyond(std::span<const std::int64_t> shape, const std::vector<TimedShape>& around) {
  double sum = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto [least, most] = std::ranges::minmax(around, {}, [i](const TimedShape& each) { return each.dims[i]; });
    const std::int64_t nearest = std::clamp(shape[i], least.dims[i], most.dims[i]);
    sum += std::abs(std::log(static_cast<double>(std::max<std::int64_t>(nearest, 1)) /
                             static_cast<double>(std::max<std::int64_t>(shape[i], 1))));
  }
  return sum;
}

double error_around(const std::vector<TimedShape>& around) {
  const std::size_t judged = std::min(kJudged, around.size());
  double squares = 0;
  for (std::size_t i = 0; i < judged; ++i) {
    std::vector<TimedShape> others = around;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    squares += std::pow(std::log(expected_time_ns(around[i].dims, others) / around[i].median_ns), 2);
  }
  return std::sqrt(squares / static_cast<double>(judged));
}

}  // namespace

std::optional<EstimatedTime> estimated_time(std::span<const std::int64_t> shape,
                                            const std::vector<TimedShape>& around) {
  if (around.size() < kFewestAround) return std::nullopt;
  const double ns = expected_time_ns(shape, around);
  const double factor = std::exp(kBounds * (error_around(around) + kBeyondRange * beyond(shape, around)));
  return EstimatedTime{ns, ns / factor, ns * factor};
}

}  // namespace tilewright
