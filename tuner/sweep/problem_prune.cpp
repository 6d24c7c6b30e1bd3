// SPDX-License-Identifier: Apache-2.0
// Prunes candidates that cannot win, before compiling and again with the compiler's figures. Each pruned candidate is a
// row of the cache.
#include <fmt/format.h>

#include <algorithm>

#include "tuner/prune/pruner.hpp"
#include "tuner/sweep/local_config_runner.hpp"
#include "tuner/sweep/problem_run.hpp"

namespace tilewright {

const std::set<std::string>* named_configs(const SweepSetting& setting, const Problem& problem) {
  if (setting.only == nullptr) return nullptr;
  const auto named = setting.only->find(problem.key());
  return named == setting.only->end() ? nullptr : &named->second;
}

bool prunes(const SweepSetting& setting, const Problem& problem) {
  return setting.prune && named_configs(setting, problem) == nullptr;
}

Pruner make_pruner(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device, MeasureMode mode,
                   const std::vector<Candidate>& candidates) {
  std::vector<Pruner::Entrant> entrants;
  for (const Candidate& candidate : candidates) {
    entrants.push_back({&candidate.config, &candidate.implementation->recipe});
  }
  const Work work{static_cast<double>(definition.bytes_of(problem)), static_cast<double>(definition.flops_of(problem)),
                  mode == MeasureMode::hot};
  return {{&definition.interface, &problem, device, work, definition.base}, entrants};
}

Trial ProblemRun::pruned_trial(std::size_t index, const Build& build, std::string reason) const {
  Trial trial = begin_trial(setting_.trial, "", candidates_[index].config, build);
  trial.status = TrialStatus::pruned;
  trial.reason = std::move(reason);
  return trial;
}

void ProblemRun::prune() {
  if (!prunes(setting_, problem_)) return;
  pruner_ =
      std::make_unique<Pruner>(make_pruner(definition_, problem_, setting_.facts, setting_.trial.mode, candidates_));
  Build none;
  none.ok = true;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (known_[i]) continue;
    if (auto reason = pruner_->before_compiling(i)) known_[i] = pruned_trial(i, none, std::move(*reason));
  }
}

void ProblemRun::store_pruned() {
  Store::Batch batch(*setting_.store);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!known_[i] || known_[i]->status != TrialStatus::pruned || known_[i]->id != 0) continue;
    known_[i]->id = setting_.store->put_trial(key_, candidates_[i].implementation->hash, *known_[i]);
  }
  batch.commit();
}

std::optional<Trial> ProblemRun::prune_compiled(std::size_t index, const Build& build) {
  if (!pruner_ || !build.ok) return std::nullopt;
  auto reason = pruner_->after_compiling(index, build.kernels);
  if (!reason) return std::nullopt;
  Trial trial = pruned_trial(index, build, std::move(*reason));
  trial.id = setting_.store->put_trial(key_, candidates_[index].implementation->hash, trial);
  search_->tell(index, trial);
  return trial;
}

std::size_t ProblemRun::pruned() const {
  return static_cast<std::size_t>(
      std::count_if(search_->trials().begin(), search_->trials().end(),
                    [](const auto& trial) { return trial && trial->status == TrialStatus::pruned; }));
}

}  // namespace tilewright
