// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/regime.hpp"

#include <algorithm>
#include <string>

#include "tuner/search/leaders.hpp"

namespace tilewright {
namespace {

void choose(Winner& winner, const Loads& loads, const std::vector<std::optional<Trial>>& trials) {
  std::vector<Sustained>& order = winner.choice.sustained;
  std::map<std::string, const Trial*> by_config;
  for (const auto& [candidate, load] : loads) {
    const auto& trial = trials.at(candidate);
    const bool eligible = winner.role == WinnerRole::best || !load.config.specialised();
    if (!eligible || !trial || !timed(*trial)) continue;
    order.push_back(load);
    by_config[load.config.text()] = &*trial;
  }
  if (order.empty()) return;
  std::ranges::sort(order, {}, &Sustained::median_ns);
  const auto burst = std::ranges::find(order, winner.trial.config, &Sustained::config);
  if (burst != order.end() && order.front().high_ns >= burst->low_ns) std::rotate(order.begin(), burst, burst + 1);
  winner.trial = *by_config.at(order.front().config.text());
  winner.runner_up.reset();
  winner.runner_up_ratio.reset();
  winner.choice.margin_low = winner.choice.margin_high = 0;
  winner.choice.tied.clear();
  winner.choice.tie_broken_by.clear();
  if (order.size() < 2) return;
  winner.runner_up = order[1].config;
  winner.runner_up_ratio = order[1].median_ns / order.front().median_ns;
}

}  // namespace

void choose_under_load(std::vector<Winner>& winners, const Loads& loads,
                       const std::vector<std::optional<Trial>>& trials) {
  for (Winner& winner : winners) {
    winner.choice.regime = Regime::sustained;
    if (winner.role != WinnerRole::base) choose(winner, loads, trials);
  }
}

void keep_loads(const std::vector<Winner>& stored, std::vector<Winner>& winners) {
  for (Winner& winner : winners) {
    const auto before = std::ranges::find(stored, winner.role, &Winner::role);
    if (before != stored.end()) winner.choice.sustained = before->choice.sustained;
  }
}

}  // namespace tilewright
