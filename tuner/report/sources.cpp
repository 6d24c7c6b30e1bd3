// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/sources.hpp"

namespace tilewright {

Cell time_cell(const Winner& winner, double Timing::*member) {
  if (!winner.trial.timing) return {};
  return (*winner.trial.timing).*member;
}

Cell half_interval_cell(const Trial& trial) {
  const auto& timing = trial.timing;
  if (!timing || timing->median_ns <= 0) return {};
  return (timing->high_ns - timing->low_ns) / 2 / timing->median_ns;
}

Cell speedup_cell(const Winner& winner) {
  const auto& timing = winner.trial.timing;
  if (!timing || !winner.base_ns || timing->median_ns <= 0) return {};
  return *winner.base_ns / timing->median_ns;
}

Cell runner_up_cell(const Winner& winner) {
  if (!winner.runner_up) return {};
  return winner.runner_up->text();
}

Cell without_rounds_cell(const Winner& winner) {
  const int bare = winner.choice.without_rounds;
  return bare > 0 ? Cell(std::int64_t{bare}) : Cell();
}

}  // namespace tilewright
