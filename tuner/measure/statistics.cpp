// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "tuner/measure/measure.hpp"

namespace tilewright {
namespace {

/// The number of sorted samples outside the median's 95 % interval at each end.
///
/// The number of samples below the true median is Binomial(count, 1/2) for all distributions. The interval from the
/// (k+1)-th smallest to the (k+1)-th largest misses the median with probability 2·P(X ≤ k), so k is the largest number
/// for which that is at most 5 %. Below 6 samples no k qualifies, and the result is 0.
std::size_t outside_at_each_end(std::size_t count) {
  const double n = static_cast<double>(count);
  double tail = 0;
  std::size_t outside = 0;
  // By logarithms: 2^-n underflows from 1075 samples on.
  double log_probability = -n * std::log(2.0);
  for (std::size_t k = 0; k < count / 2; ++k) {
    tail += std::exp(log_probability);
    if (tail > 0.025) break;
    outside = k;
    const double i = static_cast<double>(k);
    log_probability += std::log((n - i) / (i + 1));
  }
  return outside;
}

}  // namespace

Timing summarise(std::vector<double> rounds_ns) {
  if (rounds_ns.empty()) throw std::invalid_argument("summarise: there are no rounds");
  std::vector<double> sorted = rounds_ns;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t count = sorted.size();
  const std::size_t outside = outside_at_each_end(count);
  Timing timing;
  timing.median_ns = count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
  timing.low_ns = sorted[outside];
  timing.high_ns = sorted[count - 1 - outside];
  timing.min_ns = sorted.front();
  timing.rounds_ns = std::move(rounds_ns);
  return timing;
}

}  // namespace tilewright
