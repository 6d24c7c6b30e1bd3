// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/intervals.hpp"

#include <algorithm>

namespace tilewright {
namespace {

// Half widths as shares of the median: rounds of one look differ by 0.1 to 0.5 %, separate looks by clock drift.
constexpr double kBriefDoubt = 0.01;
constexpr double kWholeDoubt = 0.004;

}  // namespace

bool timed(const Trial& trial) noexcept {
  return trial.status == TrialStatus::ok && trial.timing.has_value() && trial.timing->median_ns > 0;
}

Likely likely(const Trial& trial) noexcept {
  const double doubt = trial.look == LookLength::brief ? kBriefDoubt : kWholeDoubt;
  return {std::min(trial.timing->low_ns, (1 - doubt) * trial.timing->median_ns),
          std::max(trial.timing->high_ns, (1 + doubt) * trial.timing->median_ns)};
}

SpeedUp speed_up(const Trial& a, const Trial& b) {
  const Likely of_a = likely(a);
  const Likely of_b = likely(b);
  return {a.timing->median_ns / b.timing->median_ns, of_a.low_ns / of_b.high_ns, of_a.high_ns / of_b.low_ns};
}

}  // namespace tilewright
