// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/winners.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tuner/measure/measure.hpp"
#include "tuner/search/leaders.hpp"

namespace tilewright {
namespace {

// Intervals alone do not make a tie: they are wide on a noisy device, and the smaller median is still the better guess.
constexpr double kMostATieMayCost = 1.01;

using Trials = std::vector<const Trial*>;

double median(const Trial& trial) { return trial.timing->median_ns; }

bool in_final(const Trial& trial) { return trial.look == LookLength::final; }

/// The trials that met in the newest final; all if there was none.
Trials contenders(const Trials& trials) {
  std::int64_t newest = -1;
  for (const Trial* trial : trials) {
    if (in_final(*trial)) newest = std::max(newest, trial->sweep);
  }
  if (newest < 0) return trials;
  Trials met;
  std::copy_if(trials.begin(), trials.end(), std::back_inserter(met),
               [&](const Trial* trial) { return in_final(*trial) && trial->sweep == newest; });
  return met;
}

/// Whether their rounds are adjacent. A finalist that could not meet the others was timed by itself, at another moment.
bool took_turns(const Trial& a, const Trial& b) {
  if (!in_final(a) || !in_final(b) || a.sweep != b.sweep) return false;
  return !a.phases || !b.phases || a.phases->began_us == b.phases->began_us;
}

/// The interval of `other`'s time over `trial`'s, from adjacent rounds if they took turns.
struct Ratio {
  double low = 0;
  double high = 0;
  bool paired = false;
};

Ratio ratio_of(const Trial& other, const Trial& trial) {
  const std::vector<double>& above = other.timing->rounds_ns;
  const std::vector<double>& below = trial.timing->rounds_ns;
  const bool paired = took_turns(other, trial) && !above.empty() && above.size() == below.size();
  if (!paired)
    return {other.timing->low_ns / trial.timing->high_ns, other.timing->high_ns / trial.timing->low_ns, false};
  std::vector<double> ratios;
  for (std::size_t i = 0; i < above.size(); ++i) ratios.push_back(above[i] / below[i]);
  const Timing interval = summarise(std::move(ratios));
  return {interval.low_ns, interval.high_ns, true};
}

bool tied(const Trial& other, const Trial& quickest) {
  return &other == &quickest ||
         (ratio_of(other, quickest).low <= 1 && median(other) <= kMostATieMayCost * median(quickest));
}

bool faster(const Trial* a, const Trial* b) { return median(*a) < median(*b); }

/// The chosen config among the tied ones, and the neighbour that decided it.
std::pair<const Trial*, std::string> break_tie(const Trials& tied, const Neighbours& neighbours) {
  if (tied.size() == 1) return {tied.front(), ""};
  for (const Neighbour& neighbour : neighbours) {
    if (!neighbour.winner) continue;
    const auto found =
        std::find_if(tied.begin(), tied.end(), [&](const Trial* each) { return each->config == *neighbour.winner; });
    if (found != tied.end()) return {*found, neighbour.problem.key()};
  }
  return {tied.front(), ""};
}

/// `rivals` are in the definition's order. min_element returns the first of equals, so the result depends only on the
/// trials, their order and the neighbours.
Winner choose(WinnerRole role, const Trials& rivals, const Neighbours& neighbours) {
  const Trials met = contenders(rivals);
  const Trial& quickest = **std::min_element(met.begin(), met.end(), faster);
  Trials equals;
  std::copy_if(met.begin(), met.end(), std::back_inserter(equals),
               [&](const Trial* other) { return tied(*other, quickest); });
  const auto tie = break_tie(equals, neighbours);
  const Trial* const chosen = tie.first;

  Winner winner;
  winner.role = role;
  winner.trial = *chosen;
  winner.choice.tie_broken_by = tie.second;
  if (in_final(*chosen)) winner.choice.finalists = static_cast<int>(met.size());
  std::stable_sort(equals.begin(), equals.end(), faster);
  for (const Trial* other : equals) {
    if (other != chosen) winner.choice.tied.push_back(other->config);
  }
  // A config outside the final is a runner-up only if it is not faster: its time comes from another clock.
  Trials others;
  std::copy_if(rivals.begin(), rivals.end(), std::back_inserter(others), [&](const Trial* other) {
    const bool came = std::find(met.begin(), met.end(), other) != met.end();
    return other != chosen && (came || median(*other) >= median(*chosen));
  });
  const auto next = std::min_element(others.begin(), others.end(), faster);
  if (next == others.end()) return winner;
  winner.runner_up = (*next)->config;
  winner.runner_up_ratio = median(**next) / median(*chosen);
  if (const Ratio ratio = ratio_of(**next, *chosen); ratio.paired) {
    winner.choice.margin_low = ratio.low;
    winner.choice.margin_high = ratio.high;
  }
  return winner;
}

}  // namespace

std::vector<Winner> choose_winners(const std::vector<Trial>& trials, const Config& base, const std::string& strategy,
                                   const Neighbours& neighbours) {
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
  if (!all.empty()) winners.push_back(choose(WinnerRole::best, all, neighbours));
  if (!dynamic.empty()) winners.push_back(choose(WinnerRole::dynamic, dynamic, neighbours));
  if (!fallback.empty()) {
    Winner& winner = winners.emplace_back();
    winner.role = WinnerRole::base;
    winner.trial = *fallback.front();
    std::erase(all, fallback.front());
    if (const auto next = std::min_element(all.begin(), all.end(), faster); next != all.end()) {
      winner.runner_up = (*next)->config;
      winner.runner_up_ratio = median(**next) / median(winner.trial);
    }
  }

  const auto failed =
      std::count_if(trials.begin(), trials.end(), [](const Trial& trial) { return is_failure(trial.status); });
  for (Winner& winner : winners) {
    if (!fallback.empty()) winner.base_ns = median(*fallback.front());
    winner.configs_considered = static_cast<int>(trials.size());
    winner.configs_failed = static_cast<int>(failed);
    winner.strategy = strategy;
  }
  return winners;
}

}  // namespace tilewright
