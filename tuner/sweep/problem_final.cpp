// SPDX-License-Identifier: Apache-2.0
// The end of a problem's run: the final, times under load, winners checked on other data and stored.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "tuner/moment.hpp"
#include "tuner/search/leaders.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/problem_run.hpp"

namespace tilewright {

bool ProblemRun::hold_final() {
  const std::vector<std::size_t> indices = search_->finalists();
  // Again only when others lead than those who met: one who fails in a final may stay.
  if (indices.empty() || indices == met_) return true;
  met_ = indices;
  if (!set_up()) return false;
  std::vector<Binary> binaries;
  for (const std::size_t i : indices) binaries.push_back(binary_of(*search_->trials()[i]));
  std::vector<Finalist> finalists;
  for (std::size_t n = 0; n < indices.size(); ++n) {
    const Candidate& candidate = candidates_[indices[n]];
    finalists.push_back({candidate.implementation, candidate.config, &binaries[n].build, binaries[n].bytes});
  }
  std::vector<Timing> timings;
  Phases phases;
  {
    const Builder::Quiet quiet(*setting_.builder, meanwhile_);
    if (setting_.trial.interrupted()) return false;
    phases.began_us = moment_us();
    timings = runner_->time_together(finalists, setting_.stop);
    phases.measure_us = moment_us() - phases.began_us;
    phases = after_set_up(phases);
  }
  if (setting_.trial.interrupted()) return false;
  std::vector<Trial> failed;
  Store::Batch batch(*setting_.store);
  for (std::size_t n = 0; n < indices.size(); ++n) {
    Trial trial = *search_->trials()[indices[n]];
    if (timings[n].rounds_ns.empty()) {
      failed.push_back(std::move(trial));
      continue;
    }
    trial.look = LookLength::final;
    trial.phases = phases;
    trial.timing = timings[n];
    trial.readings = timings[n].readings;
    trial.reason = timings[n].disturbed;
    trial.sweep = setting_.trial.sweep;
    trial.measured_at = 0;
    store_trial(trial, candidates_[indices[n]].implementation->hash);
    search_->tell(indices[n], trial);
  }
  batch.commit();
  for (Trial& trial : failed) check_again(std::move(trial));
  return true;
}

bool ProblemRun::load_leaders() {
  std::set<std::size_t> leaders;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const auto& trial = search_->trials()[i];
    if (trial && timed(*trial) && trial->look == LookLength::final) leaders.insert(i);
  }
  for (const Winner& winner : search_->winners()) {
    if (winner.role != WinnerRole::base) leaders.insert(index_.at(winner.trial.config.text()));
  }
  std::erase_if(leaders, [&](std::size_t i) { return loaded_.count(i) != 0; });
  if (leaders.empty()) return true;
  if (!set_up()) return false;
  const Builder::Quiet quiet(*setting_.builder, meanwhile_);
  for (const std::size_t i : leaders) {
    const Binary binary = binary_of(*search_->trials()[i]);
    const Candidate& candidate = candidates_[i];
    const Timing timing = runner_->time({candidate.implementation, candidate.config, &binary.build, binary.bytes},
                                        sustained(setting_.stop));
    if (setting_.trial.interrupted()) return false;
    loaded_[i] = {candidate.config,
                  timing.median_ns,
                  timing.low_ns,
                  timing.high_ns,
                  timing.readings.sm_clock_mhz.value_or(0),
                  timing.readings.power_mw.value_or(0),
                  timing.readings.throttle_reasons.value_or(0)};
  }
  return true;
}

const Recheck* ProblemRun::recheck() const {
  if (setting_.rechecks == nullptr) return nullptr;
  const auto found = setting_.rechecks->find({key_.device_fingerprint, problem_.key()});
  return found == setting_.rechecks->end() ? nullptr : &found->second;
}

Regime ProblemRun::regime() const {
  const Recheck* const again = recheck();
  return again != nullptr ? again->regime : setting_.regime;
}

bool ProblemRun::keep_evidence(const std::vector<Winner>& stored, std::vector<Winner>& winners) {
  const Recheck& again = *recheck();
  const bool any = !winners.empty() && winners.front().role == WinnerRole::best;
  if (!again.stands(any ? &winners.front() : nullptr)) return false;
  for (Winner& winner : winners) {
    const auto before = std::ranges::find(stored, winner.role, &Winner::role);
    winner.choice.recheck = Choice::Recheck{winner.choice.at, static_cast<int>(again.leaders.size()), again.why};
    if (before == stored.end()) continue;
    winner.strategy = before->strategy;
    winner.configs_considered = before->configs_considered;
    winner.configs_failed = before->configs_failed;
    winner.choice.pruned = before->choice.pruned;
    winner.choice.at = before->choice.at;
  }
  return true;
}

// A config that passed before timing may still be wrong: by luck with the data, in place, or only on a warm cache.
// Those that would be served are looked at again; one that fails becomes a wrong result, and the choice is made anew.
std::optional<std::vector<Winner>> ProblemRun::finish(std::function<bool()> meanwhile) {
  meanwhile_ = std::move(meanwhile);
  // Nothing that was asked for can serve it: what is stored is no worse for that.
  if (candidates_.empty()) {
    std::vector<Winner> none;
    must_widen_ = setting_.leading && !keep_evidence({}, none);
    return none;
  }
  if (!hold_final()) return std::nullopt;
  std::set<std::int64_t> checked;
  std::vector<Winner> stored = setting_.store->winners(key_, setting_.trial.mode);
  std::set<std::int64_t> known;
  for (const auto& trial : search_->trials()) {
    if (trial) known.insert(trial->id);
  }
  const bool stands = std::all_of(stored.begin(), stored.end(),
                                  [&](const Winner& winner) { return known.count(winner.trial.id) != 0; });
  // What was chosen from the same trials stays chosen, whatever neighbours have learned since.
  if (!told_ && stands && !stored.empty() && stored.front().choice.regime == regime()) return stored;
  for (const Winner& winner : stored) checked.insert(winner.trial.id);
  // What was tuned since this problem was begun breaks ties as well.
  search_->meet(shapes_nearby());
  for (;;) {
    std::vector<Winner> winners = search_->winners();
    if (regime() == Regime::sustained) {
      if (!load_leaders()) return std::nullopt;
      choose_under_load(winners, loaded_, search_->trials());
    } else if (!told_ && stands) {
      keep_loads(stored, winners);
    }
    const auto unchecked = std::find_if(winners.begin(), winners.end(),
                                        [&](const Winner& winner) { return checked.count(winner.trial.id) == 0; });
    if (unchecked != winners.end()) {
      if (!set_up() || setting_.trial.interrupted()) return std::nullopt;
      checked.insert(unchecked->trial.id);
      check_again(unchecked->trial);
      if (!hold_final()) return std::nullopt;
      continue;
    }
    for (Winner& winner : winners) winner.choice.at = std::time(nullptr);
    if (setting_.leading && !keep_evidence(stored, winners)) {
      must_widen_ = true;
      return winners;
    }
    setting_.store->put_winners(key_, setting_.trial.mode, winners);
    return winners;
  }
}

ProblemRun::Binary ProblemRun::binary_of(const Trial& trial) const {
  auto build = setting_.store->build(trial.build_key);
  if (!build) throw CacheError(fmt::format("build {} of a trial is not in the cache", trial.build_key));
  auto bytes = setting_.store->binary(build->binary_hash);
  return {std::move(*build), std::move(bytes)};
}

void ProblemRun::check_again(Trial trial) {
  const std::size_t index = index_.at(trial.config.text());
  const Implementation& implementation = *candidates_[index].implementation;
  const Binary binary = binary_of(trial);
  Phases& phases = trial.phases.emplace();
  phases.began_us = moment_us();
  try {
    trial.reason = runner_->check_again({&implementation, trial.config, &binary.build, binary.bytes});
    if (!trial.reason.empty()) trial.status = TrialStatus::wrong_result;
  } catch (const DeviceError& error) {
    trial.status = status_of(error);
    trial.reason = error.what();
  }
  if (trial.status == TrialStatus::ok) return;
  phases.verify_us = moment_us() - phases.began_us;
  trial.timing.reset();
  store_trial(trial, implementation.hash);
  search_->tell(index, trial);
  setting_.note(fmt::format("{} on {}: {}", trial.config.text(), problem_.key(), trial.reason));
  require_alive(trial);
}

std::optional<Timing> ProblemRun::time_again(const Winner& winner) {
  if (!set_up()) return std::nullopt;
  const Candidate& candidate = candidates_[index_.at(winner.trial.config.text())];
  const Binary binary = binary_of(winner.trial);
  return runner_->time({candidate.implementation, candidate.config, &binary.build, binary.bytes}, setting_.stop);
}

}  // namespace tilewright
