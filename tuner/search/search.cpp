// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/search.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "cache/model/not_reached.hpp"
#include "tuner/prune/verdict.hpp"
#include "tuner/search/leaders.hpp"
#include "tuner/search/winners.hpp"

namespace tilewright {

Search::Search(SearchSpace space, const std::string& strategy, std::size_t max_trials)
    : space_(std::move(space)),
      name_(strategy),
      max_trials_(max_trials),
      strategy_(make_strategy(strategy, space_)),
      trials_(space_.candidates.size()) {}

void Search::recall(std::size_t candidate, const Trial& trial) {
  strategy_->tell(candidate, trial);
  trials_.at(candidate) = trial;
}

std::vector<Look> Search::ask(std::size_t most) const {
  if (max_trials_ == 0) return strategy_->ask(most);
  // Longer looks at tried candidates cost no trial. Of new ones the first stay, because looks may be made in any order.
  std::vector<Look> looks = strategy_->ask(trials_.size());
  std::size_t left = max_trials_ - std::min(max_trials_, tried_);
  std::erase_if(looks, [&](const Look& look) {
    if (trials_[look.candidate]) return false;
    return left == 0 || (--left, false);
  });
  if (looks.size() > most) looks.resize(most);
  return looks;
}

void Search::tell(std::size_t candidate, const Trial& trial) {
  if (!trials_.at(candidate) && trial.status != TrialStatus::pruned) ++tried_;
  strategy_->tell(candidate, trial);
  trials_[candidate] = trial;
  if (trial.look != LookLength::final && trial.timing) trials_[candidate]->timing->rounds_ns.clear();
}

std::size_t Search::still_to_try() const {
  const std::size_t left = strategy_->still_to_try();
  return max_trials_ == 0 ? left : std::min(left, max_trials_ - std::min(max_trials_, tried_));
}

std::vector<std::size_t> Search::finalists() const { return tilewright::finalists(trials_); }

std::map<std::string, int> Search::pruned() const {
  std::map<std::string, int> reasons;
  int dropped = 0;
  int beyond_final = 0;
  int left_out = 0;
  const Leaders found = leaders(trials_);
  std::set<std::size_t> leading(found.best.begin(), found.best.end());
  leading.insert(found.dynamic.begin(), found.dynamic.end());
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    const auto& trial = trials_[i];
    if (!trial) ++left_out;
    if (trial && timed(*trial) && trial->look == LookLength::brief) ++(leading.contains(i) ? beyond_final : dropped);
    if (trial && trial->status == TrialStatus::pruned) ++reasons[kind_of_prune(trial->reason)];
  }
  const int unreached = std::min(left_out, static_cast<int>(strategy_->still_to_try()));
  const auto add = [&](const std::string& reason, int count) {
    if (count > 0) reasons.emplace(reason, count);
  };
  add("dropped after a brief look: slower than the fastest by more than their intervals", dropped);
  add("dropped after a brief look: one of more leaders than a final takes", beyond_final);
  add(kNotReached, unreached);
  add(strategy_->why_left_out(), left_out - unreached);
  return reasons;
}

std::vector<Winner> Search::winners() const {
  std::vector<Trial> told;
  for (const auto& trial : trials_) {
    if (trial) told.push_back(*trial);
  }
  // Only shapes of the same spec break ties: another spec's winner says less.
  Neighbours shapes;
  const Neighbours& known = shapes_ ? *shapes_ : space_.known;
  std::copy_if(known.begin(), known.end(), std::back_inserter(shapes),
               [&](const Neighbour& each) { return each.problem.spec == space_.problem.spec; });
  std::vector<Winner> winners = choose_winners(told, space_.base, name_, shapes);
  const std::map<std::string, int> reasons = pruned();
  for (Winner& winner : winners) {
    winner.configs_considered = static_cast<int>(trials_.size());
    winner.choice.pruned = reasons;
  }
  return winners;
}

}  // namespace tilewright
