// SPDX-License-Identifier: Apache-2.0
// The end of a problem's run: the final, times under load, and checking and storing the winners.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "cache/model/not_reached.hpp"
#include "tuner/process/moment.hpp"
#include "tuner/search/leaders.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/problem_run.hpp"

namespace tilewright {
namespace {

bool has_binary(const Winner& winner) { return !winner.trial.build_key.empty(); }

}  // namespace

bool ProblemRun::hold_final() {
  for (;;) {
    const std::vector<std::size_t> indices = search_->finalists();
    // Repeats only if other configs lead now; a config that fails in a final may stay.
    if (indices.empty() || indices == met_) return true;
    met_ = indices;
    const auto untimed = time_together(indices);
    if (!untimed) return false;
    bool any_failed = false;
    for (const std::size_t index : *untimed) {
      if (!time_alone(index)) return false;
      any_failed = any_failed || !timed(*search_->trials()[index]);
    }
    // One config may have kept all from meeting; the others then meet without it.
    if (!any_failed || untimed->size() < indices.size()) return true;
  }
}

std::optional<std::vector<std::size_t>> ProblemRun::time_together(const std::vector<std::size_t>& indices) {
  if (!set_up()) return std::nullopt;
  std::vector<Binary> binaries;
  for (const std::size_t i : indices) binaries.push_back(binary_of(*search_->trials()[i]));
  std::vector<CompiledConfig> finalists;
  for (std::size_t n = 0; n < indices.size(); ++n) {
    const Candidate& candidate = candidates_[indices[n]];
    finalists.push_back({candidate.implementation, candidate.config, &binaries[n].build, binaries[n].bytes});
  }
  std::vector<Timing> timings;
  Phases phases;
  {
    const Builder::CompilePause pause(*setting_.builder, meanwhile_);
    if (setting_.trial.interrupted()) return std::nullopt;
    phases.began_us = moment_us();
    timings = runner_->time_together(finalists, setting_.stop);
    phases.measure_us = moment_us() - phases.began_us;
    phases = after_set_up(phases);
  }
  if (setting_.trial.interrupted()) return std::nullopt;
  std::vector<std::size_t> untimed;
  Store::Batch batch(*setting_.store);
  for (std::size_t n = 0; n < indices.size(); ++n) {
    if (timings[n].rounds_ns.empty()) {
      untimed.push_back(indices[n]);
    } else {
      keep_final(indices[n], timings[n], phases);
    }
  }
  batch.commit();
  return untimed;
}

bool ProblemRun::time_alone(std::size_t index) {
  if (!set_up()) return false;
  const Trial& before = *search_->trials()[index];
  const Binary binary = binary_of(before);
  const Candidate& candidate = candidates_[index];
  Phases phases;
  phases.began_us = moment_us();
  try {
    const Builder::CompilePause pause(*setting_.builder, meanwhile_);
    if (setting_.trial.interrupted()) return false;
    phases.began_us = moment_us();
    const Timing timing =
        runner_->time({candidate.implementation, candidate.config, &binary.build, binary.bytes}, setting_.stop);
    if (setting_.trial.interrupted()) return false;
    phases.measure_us = moment_us() - phases.began_us;
    if (!timing.rounds_ns.empty()) keep_final(index, timing, after_set_up(phases));
  } catch (const DeviceLost&) {
    throw;
  } catch (const DeviceError& error) {
    phases.measure_us = moment_us() - phases.began_us;
    keep_failure(before, status_of(error), error.what(), phases);
  }
  return true;
}

void ProblemRun::keep_final(std::size_t index, const Timing& timing, const Phases& phases) {
  Trial trial = *search_->trials()[index];
  if (trial.build_key.empty()) trial.build_key = builds_[index];
  trial.look = LookLength::final;
  trial.phases = phases;
  trial.timing = timing;
  trial.readings = timing.readings;
  trial.reason = timing.disturbed;
  trial.sweep = setting_.trial.sweep;
  trial.measured_at = 0;
  // The trial that came before may be of another GPU.
  trial.gpu_uuid = trial_device_->gpu_uuid();
  store_trial(trial, candidates_[index].implementation->hash);
  search_->tell(index, trial);
}

void ProblemRun::keep_failure(Trial trial, TrialStatus status, const std::string& reason, const Phases& phases) {
  const std::size_t index = index_.at(trial.config.text());
  trial.status = status;
  trial.reason = reason;
  trial.phases = phases;
  trial.timing.reset();
  trial.sweep = setting_.trial.sweep;
  trial.measured_at = std::time(nullptr);
  trial.gpu_uuid = trial_device_->gpu_uuid();
  store_trial(trial, candidates_[index].implementation->hash);
  search_->tell(index, trial);
  setting_.note(fmt::format("{} on {}: {}", trial.config.text(), problem_.key(), trial.reason));
  require_alive(trial);
}

bool ProblemRun::load_leaders() {
  for (bool any_failed = true; any_failed;) {
    any_failed = false;
    for (const std::size_t i : unloaded_leaders()) {
      if (!set_up()) return false;
      const Trial& trial = *search_->trials()[i];
      const Binary binary = binary_of(trial);
      const Builder::CompilePause pause(*setting_.builder, meanwhile_);
      if (setting_.trial.interrupted()) return false;
      const Candidate& candidate = candidates_[i];
      Phases phases;
      phases.began_us = moment_us();
      try {
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
      } catch (const DeviceLost&) {
        throw;
      } catch (const DeviceError& error) {
        // A config that fails under load is out, and the next one leads.
        phases.measure_us = moment_us() - phases.began_us;
        keep_failure(trial, status_of(error), error.what(), phases);
        any_failed = true;
      }
    }
  }
  return true;
}

bool ProblemRun::is_beaten(const Winner& stored) const {
  const auto at = index_.find(stored.trial.config.text());
  if (regime() == Regime::sustained || stored.role != WinnerRole::best || at == index_.end()) return false;
  const std::vector<std::size_t> best = leaders(search_->trials()).best;
  return std::ranges::find(best, at->second) == best.end();
}

// A choice from the same trials stands, whatever neighbours have learned since. A merge may have brought others.
bool ProblemRun::is_chosen(const std::vector<Winner>& stored) const {
  return !stored.empty() && stored.front().choice.regime == regime() && !is_beaten(stored.front()) &&
         std::ranges::all_of(stored, has_binary);
}

bool ProblemRun::are_known(const std::vector<Winner>& winners) const {
  std::set<std::int64_t> known;
  for (const auto& trial : search_->trials()) {
    if (trial) known.insert(trial->id);
  }
  return std::ranges::all_of(winners, [&](const Winner& winner) { return known.count(winner.trial.id) != 0; });
}

std::optional<bool> ProblemRun::time_unbuilt(const std::vector<Winner>& winners, std::set<std::int64_t>& timed) {
  const auto unbuilt = std::ranges::find_if(
      winners, [&](const Winner& winner) { return !has_binary(winner) && timed.insert(winner.trial.id).second; });
  if (unbuilt == winners.end()) return false;
  if (!time_alone(index_.at(unbuilt->trial.config.text())) || !hold_final()) return std::nullopt;
  return true;
}

std::set<std::size_t> ProblemRun::unloaded_leaders() const {
  std::set<std::size_t> leaders;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const auto& trial = search_->trials()[i];
    if (trial && timed(*trial) && trial->look == LookLength::final) leaders.insert(i);
  }
  for (const Winner& winner : search_->winners()) {
    if (winner.role != WinnerRole::base) leaders.insert(index_.at(winner.trial.config.text()));
  }
  std::erase_if(leaders, [&](std::size_t i) { return loaded_.count(i) != 0; });
  return leaders;
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
    winner.choice.recheck = Selection::Recheck{winner.choice.at, static_cast<int>(again.leaders.size()), again.why};
    if (before == stored.end()) continue;
    winner.strategy = before->strategy;
    winner.configs_considered = before->configs_considered;
    winner.configs_failed = before->configs_failed;
    winner.choice.pruned = before->choice.pruned;
    winner.choice.forbidden = before->choice.forbidden;
    winner.choice.at = before->choice.at;
  }
  return true;
}

bool ProblemRun::outlasts(const std::vector<Winner>& stored, const std::vector<Winner>& winners) const {
  const bool is_cut = !winners.empty() && configs_not_reached(winners.front()) > 0;
  const std::vector<Trial> current = measured_anew().trials;
  return std::ranges::any_of(stored, [&](const Winner& winner) {
    const auto at = index_.find(winner.trial.config.text());
    if (winner.role == WinnerRole::base || at == index_.end() || search_->trials()[at->second]) return false;
    // A strategy begins at the best, and may leave the dynamic winner out by itself.
    if (winner.role == WinnerRole::dynamic && !is_cut) return false;
    return std::ranges::find(current, winner.trial.id, &Trial::id) != current.end();
  });
}

// A config that passed before timing may still be wrong: by luck with the data, in place, or only on a warm cache. The
// winners are checked again. If one fails, it becomes a wrong result and winners are chosen again.
std::optional<std::vector<Winner>> ProblemRun::finish(std::function<bool()> meanwhile) {
  meanwhile_ = std::move(meanwhile);
  // If no requested config can serve, the stored winners stay valid.
  if (candidates_.empty()) {
    std::vector<Winner> none;
    must_widen_ = setting_.leading && !keep_evidence({}, none);
    return none;
  }
  if (!hold_final()) return std::nullopt;
  std::set<std::int64_t> checked;
  std::vector<Winner> stored = setting_.store->winners(key_, setting_.trial.mode);
  const bool stands = are_known(stored);
  if (!told_ && stands && is_chosen(stored)) return stored;
  for (const Winner& winner : stored) checked.insert(winner.trial.id);
  // Problems tuned since this one began break ties, too.
  search_->meet(shapes_nearby());
  std::set<std::int64_t> timed;
  for (;;) {
    if (regime() == Regime::sustained && !load_leaders()) return std::nullopt;
    std::vector<Winner> winners = search_->winners();
    const auto timed_anew = time_unbuilt(winners, timed);
    if (!timed_anew) return std::nullopt;
    if (*timed_anew) continue;
    if (regime() == Regime::sustained) {
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
      // An interrupted check shows nothing.
      if (setting_.trial.interrupted() || !hold_final()) return std::nullopt;
      continue;
    }
    for (Winner& winner : winners) {
      winner.choice.at = std::time(nullptr);
      winner.choice.forbidden = forbidden_;
    }
    if (setting_.leading && !keep_evidence(stored, winners)) {
      must_widen_ = true;
      return winners;
    }
    is_outlasted_ = outlasts(stored, winners);
    if (is_outlasted_) return stored;
    setting_.store->put_winners(key_, setting_.trial.mode, winners);
    return winners;
  }
}

ProblemRun::Binary ProblemRun::binary_of(const Trial& trial) {
  // A pack lacks the binaries of losing configs, and one may lead if others are gone.
  auto build = trial.build_key.empty() ? setting_.builder->wait(build_of(index_.at(trial.config.text())))
                                       : setting_.store->build(trial.build_key);
  if (!build) return {};
  if (!build->ok) {
    throw CacheError(fmt::format("{} on {} was timed before and does not compile now; sweep it --again: {}",
                                 trial.config.text(), problem_.key(), build->log));
  }
  auto bytes = setting_.store->binary(build->binary_hash);
  return {std::move(*build), std::move(bytes)};
}

void ProblemRun::check_again(const Trial& trial) {
  const Implementation& implementation = *candidates_[index_.at(trial.config.text())].implementation;
  const Binary binary = binary_of(trial);
  if (setting_.trial.interrupted()) return;
  Phases phases;
  phases.began_us = moment_us();
  TrialStatus status = TrialStatus::ok;
  std::string reason;
  try {
    reason = runner_->check_again({&implementation, trial.config, &binary.build, binary.bytes});
    if (!reason.empty()) status = TrialStatus::wrong_result;
  } catch (const DeviceLost&) {
    throw;
  } catch (const DeviceError& error) {
    status = status_of(error);
    reason = error.what();
  }
  if (status == TrialStatus::ok) return;
  phases.verify_us = moment_us() - phases.began_us;
  keep_failure(trial, status, reason, phases);
}

std::optional<Timing> ProblemRun::time_again(const Winner& winner) {
  if (!set_up()) return std::nullopt;
  const Candidate& candidate = candidates_[index_.at(winner.trial.config.text())];
  const Binary binary = binary_of(winner.trial);
  if (setting_.trial.interrupted()) return std::nullopt;
  return runner_->time({candidate.implementation, candidate.config, &binary.build, binary.bytes}, setting_.stop);
}

}  // namespace tilewright
