// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "tuner/search/strategy.hpp"

namespace tilewright {
namespace {

// Intervals alone do not make a tie: on a noisy device they are wide, and the smaller median is still the better guess.
constexpr double kMostATieMayCost = 1.01;

using Trials = std::vector<const Trial*>;

double median(const Trial& trial) { return trial.timing->median_ns; }

bool timed(const Trial& trial) { return trial.status == TrialStatus::ok && trial.timing.has_value(); }

// `trials` are in the definition's order. min_element gives the first of equals, and so does the search for the first
// that overlaps: nothing here depends on anything but the trials and their order.
const Trial* fastest(const Trials& trials) {
  if (trials.empty()) return nullptr;
  const Trial& quickest = **std::min_element(trials.begin(), trials.end(),
                                             [](const Trial* a, const Trial* b) { return median(*a) < median(*b); });
  const auto tied = [&](const Trial* other) {
    return other->timing->low_ns <= quickest.timing->high_ns && median(*other) <= kMostATieMayCost * median(quickest);
  };
  const auto first = std::find_if(trials.begin(), trials.end(), tied);
  // A quickest trial whose own interval does not hold its median cannot come from `summarise`, but may from a file.
  return first == trials.end() ? &quickest : *first;
}

Winner make_winner(WinnerRole role, const Trial& trial, const Trials& rivals) {
  Winner winner;
  winner.role = role;
  winner.trial = trial;
  Trials others;
  std::copy_if(rivals.begin(), rivals.end(), std::back_inserter(others),
               [&](const Trial* other) { return other != &trial; });
  const auto next = std::min_element(others.begin(), others.end(),
                                     [](const Trial* a, const Trial* b) { return median(*a) < median(*b); });
  if (next != others.end()) {
    winner.runner_up = (*next)->config;
    winner.runner_up_ratio = median(**next) / median(trial);
  }
  return winner;
}

}  // namespace

std::vector<Winner> choose_winners(const std::vector<Trial>& trials, const Config& base, const std::string& strategy) {
  Trials all;
  Trials dynamic;
  Trials fallback;
  for (const Trial& trial : trials) {
    if (!timed(trial)) continue;
    all.push_back(&trial);
    if (!trial.config.specialised()) dynamic.push_back(&trial);
    if (trial.config == base) fallback.push_back(&trial);
  }

  std::vector<Winner> winners;
  if (const Trial* best = fastest(all)) winners.push_back(make_winner(WinnerRole::best, *best, all));
  if (const Trial* best = fastest(dynamic)) winners.push_back(make_winner(WinnerRole::dynamic, *best, dynamic));
  if (!fallback.empty()) winners.push_back(make_winner(WinnerRole::base, *fallback.front(), all));

  const auto failed =
      std::count_if(trials.begin(), trials.end(), [](const Trial& trial) { return trial.status != TrialStatus::ok; });
  for (Winner& winner : winners) {
    if (!fallback.empty()) winner.base_ns = median(*fallback.front());
    winner.configs_considered = static_cast<int>(trials.size());
    winner.configs_failed = static_cast<int>(failed);
    winner.strategy = strategy;
  }
  return winners;
}

}  // namespace tilewright
