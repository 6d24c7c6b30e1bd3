// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/problem_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "cache/content_hash.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/selection.hpp"

namespace tilewright {
namespace {

std::vector<std::string> implementation_hashes(const OpDefinition& definition) {
  std::vector<std::string> hashes;
  for (const Implementation& implementation : definition.implementations) hashes.push_back(implementation.hash);
  return hashes;
}

/// What the reference's binary depends on besides its generated text. Its headers are among the implementations'.
std::string reference_hash(const OpDefinition& definition) {
  std::ifstream file(definition.reference.source, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return content_hash(
      std::string_view(fmt::format("{}\n{}", text, fmt::join(implementation_hashes(definition), "\n"))));
}

/// A stored build in the form in which a compiler gives it.
CompileResult to_compile_result(const Build& build, std::vector<std::byte> binary) {
  CompileResult result;
  result.ok = build.ok;
  result.binary = std::move(binary);
  for (const KernelFacts& kernel : build.kernels) result.kernels.push_back({kernel.entry, kernel.symbol, {}});
  result.log = build.log;
  result.compiler = build.compiler;
  return result;
}

bool same_rows(const std::vector<Winner>& a, const std::vector<Winner>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Winner& one, const Winner& other) {
    return one.role == other.role && one.trial.id == other.trial.id && one.runner_up == other.runner_up &&
           one.configs_considered == other.configs_considered && one.configs_failed == other.configs_failed;
  });
}

}  // namespace

ProblemRun::ProblemRun(const SweepSetting& setting, const OpDefinition& definition, Problem problem)
    : setting_(setting),
      definition_(definition),
      problem_(std::move(problem)),
      key_{problem_, definition.interface.hash(), setting.workplace->facts().fingerprint()} {
  std::vector<Candidate> legal = expand(definition_, problem_, setting_.workplace->facts()).legal;
  std::map<std::string, Trial> known;
  if (!setting_.again) known = known_trials();
  // What is known already is considered however few configs are asked for: a short sweep never undoes a long one.
  std::set<std::string> considered;
  for (const Candidate& candidate : select_candidates(legal, setting_.max_configs, definition_.base)) {
    considered.insert(candidate.config.text());
  }
  for (Candidate& candidate : legal) {
    const std::string text = candidate.config.text();
    const auto trial = known.find(text);
    if (considered.count(text) == 0 && trial == known.end()) continue;
    index_.emplace(text, candidates_.size());
    candidates_.push_back(std::move(candidate));
    trials_.push_back(trial == known.end() ? std::nullopt : std::optional(trial->second));
  }
  strategy_ = exhaustive(candidates_.size());
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (!trials_[i]) continue;
    strategy_->tell(i, *trials_[i]);
    ++known_before_;
  }
}

std::map<std::string, Trial> ProblemRun::known_trials() const {
  std::map<std::string, Trial> known;
  for (Trial& trial : setting_.store->trials(key_, implementation_hashes(definition_), setting_.trial.mode)) {
    if (trial.versions != setting_.trial.versions || setting_.retry.count(trial.status) != 0) continue;
    const std::string text = trial.config.text();
    known.emplace(text, std::move(trial));
  }
  return known;
}

void ProblemRun::request_reference() {
  if (!reference_key_.empty()) return;
  reference_key_ = setting_.builder->request(generate_reference(definition_, problem_), reference_hash(definition_));
}

std::optional<Work> ProblemRun::ask() {
  const auto next = strategy_->ask();
  if (!next) return std::nullopt;
  // The reference goes first: nothing can be verified before it is there.
  request_reference();
  const Candidate& candidate = candidates_[*next];
  const auto plan = make_plan(definition_.interface, candidate.implementation->recipe, candidate.config, problem_,
                              setting_.workplace->facts());
  const GeneratedSource source =
      generate_source(definition_, *candidate.implementation, candidate.config, problem_, std::get<LaunchPlan>(plan));
  return Work{*next, setting_.builder->request(source, candidate.implementation->hash)};
}

bool ProblemRun::set_up() {
  if (runner_) return true;
  request_reference();
  const auto build = setting_.builder->wait(reference_key_);
  if (!build) return false;
  if (!build->ok) {
    throw Error(
        fmt::format("the reference of {} does not compile, so no config of it can be verified; mend {} and run "
                    "the sweep again\n{}",
                    definition_.interface.op, definition_.reference.source.string(), build->log));
  }
  const CompileResult reference = to_compile_result(*build, setting_.store->binary(build->binary_hash));
  runner_ = setting_.workplace->set_up(definition_, problem_, reference, setting_.trial);
  return runner_ != nullptr;
}

void ProblemRun::require_alive(const Trial& failed) const {
  if (setting_.workplace->answers()) return;
  throw DeviceLost(
      fmt::format("{} on {} crashed and took the context of {} with it: {}\nThe trial is stored and will "
                  "not be tried again: run the same command once more, and it goes on after it",
                  failed.config.text(), problem_.key(), setting_.workplace->name(), failed.reason));
}

void ProblemRun::store_trial(Trial& trial, const std::string& implementation_hash) {
  trial.id = setting_.store->put_trial(key_, implementation_hash, trial);
  // Rounds are on disk now; thousands of trials need not keep theirs in memory.
  if (trial.timing) trial.timing->rounds_ns.clear();
}

std::optional<Trial> ProblemRun::measure(const Work& work) {
  const Candidate& candidate = candidates_[work.candidate];
  const auto build = setting_.builder->wait(work.build_key);
  if (!build || !set_up() || setting_.trial.interrupted()) return std::nullopt;
  const auto binary = build->ok ? setting_.store->binary(build->binary_hash) : std::vector<std::byte>();
  Trial trial = runner_->run(*candidate.implementation, candidate.config, *build, binary, setting_.stop);
  // Cut short, or ended by the same key press that interrupted this program.
  if (setting_.trial.interrupted()) return std::nullopt;
  store_trial(trial, candidate.implementation->hash);
  strategy_->tell(work.candidate, trial);
  trials_[work.candidate] = trial;
  if (trial.status != TrialStatus::ok) require_alive(trial);
  return trial;
}

std::vector<Trial> ProblemRun::trials_in_order() const {
  std::vector<Trial> trials;
  for (const auto& trial : trials_) {
    if (trial) trials.push_back(*trial);
  }
  return trials;
}

bool ProblemRun::is_best_so_far(const Trial& trial) const {
  if (trial.status != TrialStatus::ok || !trial.timing) return false;
  return std::none_of(trials_.begin(), trials_.end(), [&](const std::optional<Trial>& other) {
    return other && other->status == TrialStatus::ok && other->timing &&
           other->timing->median_ns < trial.timing->median_ns;
  });
}

// A config that passed before timing may still be wrong: by luck with the data, in place, or only on a warm cache.
// Those that would be served are looked at again; one that fails becomes a wrong result, and the choice is made anew.
std::optional<std::vector<Winner>> ProblemRun::finish() {
  std::set<std::int64_t> checked;
  const std::vector<Winner> stored = setting_.store->winners(key_, setting_.trial.mode);
  for (const Winner& winner : stored) checked.insert(winner.trial.id);
  for (;;) {
    std::vector<Winner> winners = choose_winners(trials_in_order(), definition_.base, strategy_->name());
    const auto unchecked = std::find_if(winners.begin(), winners.end(),
                                        [&](const Winner& winner) { return checked.count(winner.trial.id) == 0; });
    if (unchecked != winners.end()) {
      if (!set_up() || setting_.trial.interrupted()) return std::nullopt;
      checked.insert(unchecked->trial.id);
      check_again(unchecked->trial);
      continue;
    }
    if (!same_rows(winners, stored)) setting_.store->put_winners(key_, setting_.trial.mode, winners);
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
  try {
    trial.reason = runner_->check_again({&implementation, trial.config, &binary.build, binary.bytes});
    if (!trial.reason.empty()) trial.status = TrialStatus::wrong_result;
  } catch (const DeviceError& error) {
    trial.status = status_of(error);
    trial.reason = error.what();
  }
  if (trial.status == TrialStatus::ok) return;
  trial.timing.reset();
  store_trial(trial, implementation.hash);
  trials_[index] = trial;
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
