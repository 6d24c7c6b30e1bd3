// SPDX-License-Identifier: Apache-2.0
#include "cache/store/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>

#include "cache/model/not_reached.hpp"

namespace tilewright {
namespace {

constexpr double kStep = 1.03;
// Times that differ by more are damaged: their steps still fit an integer.
constexpr double kMostSteps = 1e5;
constexpr std::size_t kEnoughRounds = 8;

double relative_interval(const Timing& timing) {
  return timing.median_ns > 0 ? (timing.high_ns - timing.low_ns) / timing.median_ns : 1;
}

}  // namespace

std::int64_t speed_steps(std::optional<double> base_ns, std::optional<double> median_ns) {
  if (!(base_ns > 0.0) || !(median_ns > 0.0)) return 0;
  const double steps = std::floor(std::log(*base_ns / *median_ns) / std::log(kStep));
  return std::isnan(steps) ? 0 : static_cast<std::int64_t>(std::clamp(steps, -kMostSteps, kMostSteps));
}

bool better_evidence(const Winner& a, const Winner& b) {
  // Greater is better evidence.
  const auto evidence = [](const Winner& winner) {
    const std::optional<Timing>& timing = winner.trial.timing;
    const int reached = winner.configs_considered - winner.configs_failed - configs_not_reached(winner);
    return std::tuple(timing.has_value(), timing ? speed_steps(winner.base_ns, timing->median_ns) : 0, reached,
                      timing && timing->rounds_ns.size() >= kEnoughRounds, timing ? -relative_interval(*timing) : 0.0,
                      winner.trial.measured_at);
  };
  return (a.trial.timing || b.trial.timing) && evidence(a) > evidence(b);
}

}  // namespace tilewright
