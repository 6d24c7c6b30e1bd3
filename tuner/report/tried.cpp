// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/tried.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cache/base/holds.hpp"
#include "cache/store/history.hpp"

namespace tilewright {
namespace {

bool newer(const Trial& a, const Trial& b) {
  // A pruned trial does not outdate a tried one.
  const bool a_tried = a.status != TrialStatus::pruned;
  const bool b_tried = b.status != TrialStatus::pruned;
  return std::tuple(a_tried, a.measured_at, a.id) > std::tuple(b_tried, b.measured_at, b.id);
}

std::vector<TriedConfig> newest_configs(const Store& store, const Store::Tried& tried) {
  std::map<std::string, std::size_t> known;
  std::vector<TriedConfig> configs;
  for (const std::string& hash : tried.implementation_hashes) {
    for (Trial& trial : store.trials(tried.key, {hash}, tried.mode)) {
      const auto [at, is_new] = known.emplace(trial.config.text(), configs.size());
      if (is_new) {
        configs.push_back({std::move(trial), hash});
      } else if (newer(trial, configs[at->second].trial)) {
        configs[at->second] = {std::move(trial), hash};
      }
    }
  }
  return configs;
}

std::optional<Config> best_config(const Store& store, const Store::Tried& tried) {
  auto row = store.winner_of(tried.key, tried.mode, WinnerRole::best);
  if (!row) return std::nullopt;
  return std::move(row->winner.trial.config);
}

void sort_for_table(std::vector<TriedProblem>& problems) {
  std::stable_sort(problems.begin(), problems.end(), [](const TriedProblem& a, const TriedProblem& b) {
    return before_in_table(a.key.problem, b.key.problem);
  });
}

}  // namespace

bool before_in_table(const Problem& a, const Problem& b) {
  const std::string of_a = a.spec.text();
  const std::string of_b = b.spec.text();
  return std::tie(of_a, a.dims) < std::tie(of_b, b.dims);
}

std::vector<TriedProblem> tried_problems(const Store& store, const TriedFilter& filter) {
  std::map<std::string, DeviceFacts> devices;
  for (DeviceFacts& device : store.devices()) devices.emplace(device.fingerprint(), device);
  std::vector<TriedProblem> problems;
  for (const Store::Tried& tried : store.tried(filter.op)) {
    const bool fits = tried.mode == filter.mode && holds(filter.fingerprints, tried.key.device_fingerprint) &&
                      (filter.interface_hash.empty() || filter.interface_hash == tried.key.interface_hash) &&
                      (!filter.wanted || filter.wanted(tried.key.problem));
    if (!fits) continue;
    TriedProblem problem{tried.key, devices[tried.key.device_fingerprint], tried.mode, newest_configs(store, tried),
                         best_config(store, tried)};
    problems.push_back(std::move(problem));
  }
  sort_for_table(problems);
  return problems;
}

std::vector<TriedProblem> tried_by_versions(const Store& store, const TriedFilter& filter,
                                            const std::function<bool(const Versions&)>& of,
                                            std::vector<Versions>& seen) {
  const History history = store.history(filter.op);
  using Where = std::pair<std::int64_t, std::int64_t>;
  std::map<Where, std::map<std::int64_t, TriedConfig>> newest;
  for (const History::TrialOf& each : history.trials) {
    if (each.mode != filter.mode || each.status != TrialStatus::ok || each.median_ns <= 0) continue;
    auto trial = store.trial(each.id);
    if (!trial) continue;
    if (!holds(seen, trial->versions)) seen.push_back(trial->versions);
    // The history is ordered by id, so that the newest stays.
    if (!of(trial->versions)) continue;
    // A damaged implementation has no hash.
    const auto config = history.configs.find(each.config);
    newest[{each.problem, each.device}][each.config] = {
        *std::move(trial), config == history.configs.end() ? "" : config->second.implementation_hash};
  }
  std::vector<TriedProblem> problems;
  for (auto& [where, configs] : newest) {
    const History::ProblemOf& problem = history.problems.at(where.first);
    const History::Spec& spec = history.specs.at(problem.spec);
    TriedProblem made;
    made.device = history.devices.at(where.second);
    made.key = {{spec.spec, problem.dims}, spec.interface_hash, made.device.fingerprint()};
    made.mode = filter.mode;
    const bool fits = holds(filter.fingerprints, made.key.device_fingerprint) &&
                      (filter.interface_hash.empty() || filter.interface_hash == spec.interface_hash) &&
                      (!filter.wanted || filter.wanted(made.key.problem));
    if (!fits) continue;
    for (auto& pair : configs) made.configs.push_back(std::move(pair.second));
    problems.push_back(std::move(made));
  }
  sort_for_table(problems);
  return problems;
}

}  // namespace tilewright
