// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/moments.hpp"

#include <algorithm>
#include <limits>

namespace tilewright {

std::uint32_t bounded(std::int64_t number) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, std::numeric_limits<std::uint32_t>::max()));
}

Moments::Moments(const History& history) {
  for (const auto& [id, build] : history.builds) meet(build.sweep, build.began_us);
  for (const History::TrialOf& trial : history.trials) meet(trial.sweep, trial.phases.began_us);
}

void Moments::meet(std::int64_t sweep, std::int64_t moment_us) {
  if (moment_us <= 0) return;
  const auto [first, is_new] = first_.try_emplace(sweep, moment_us);
  if (!is_new) first->second = std::min(first->second, moment_us);
}

std::int64_t Moments::first_of(std::int64_t sweep) const {
  const auto first = first_.find(sweep);
  return first == first_.end() ? 0 : first->second;
}

std::uint32_t Moments::ticks(std::int64_t sweep, std::int64_t moment_us) const {
  return moment_us <= 0 ? 0 : bounded((moment_us - first_of(sweep)) / kTickUs + 1);
}

}  // namespace tilewright
