// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/chosen_problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"

namespace tilewright::app {
namespace {

/// Whether all dims are named, and each name has one value.
bool names_one(const ProblemWords& words, const OpInterface& interface) {
  std::size_t dims = 0;
  for (const auto& [name, values] : words.named) {
    if (kind_of_name(name, interface) == NameKind::dim) ++dims;
    if (split_list(values).size() != 1) return false;
  }
  return dims == interface.dims.size();
}

/// Whether the definition still has the config.
bool is_known(const OpDefinition& definition, const Config& config) {
  try {
    (void)resolve_config(definition, config);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

void add_winners(const Store& cache, const OpDefinition& definition, const WantedProblems& wanted,
                 const std::string& fingerprint, MeasureMode mode, std::vector<ChosenProblem>& chosen,
                 std::vector<std::string>& notes) {
  const OpInterface& interface = definition.interface;
  const std::string hash = interface.hash();
  for (WinnerRow& row :
       cache.list_winners({.op = interface.op, .fingerprint = fingerprint, .mode = mode, .role = WinnerRole::best})) {
    if (row.interface_hash != hash || !wanted(row.problem)) continue;
    if (!is_known(definition, row.winner.trial.config)) {
      notes.push_back(fmt::format("{}: its winner {} is no longer a config of the op.", row.problem.key(),
                                  row.winner.trial.config.text()));
      continue;
    }
    Problem problem = row.problem;
    chosen.push_back({&definition, std::move(problem), std::move(row)});
  }
}

ChosenProblem named_problem(const OpDefinition& definition, const ProblemWords& words, const Store* cache,
                            const std::string& fingerprint, MeasureMode mode, std::vector<std::string>& notes) {
  ChosenProblem chosen{&definition, to_problem(words, definition.interface), std::nullopt};
  if (cache == nullptr) return chosen;
  chosen.winner = cache->winner_of({chosen.problem, definition.interface.hash(), fingerprint}, mode, WinnerRole::best);
  if (chosen.winner && !is_known(definition, chosen.winner->winner.trial.config)) {
    notes.push_back(fmt::format("{}: its winner {} is no longer a config of the op.", chosen.problem.key(),
                                chosen.winner->winner.trial.config.text()));
    chosen.winner.reset();
  }
  return chosen;
}

Error no_winner(const Store* cache, const Place& place, const std::string& op, const DeviceFacts& device) {
  const std::string where = cache != nullptr ? fmt::format("the cache {}", cache->path().string())
                                             : fmt::format("there is no cache {}, so it", cache_path(place).string());
  return Error(fmt::format("{} has no such winner on {}; name every dim of a problem, or tune: tilewright sweep {}",
                           where, device.fingerprint(), op));
}

}  // namespace

std::vector<ChosenProblem> choose_problems(const std::optional<ProblemWords>& words, const Place& place,
                                           Catalogue& catalogue, const Store* cache, const DeviceFacts& device,
                                           MeasureMode mode, std::vector<std::string>& notes) {
  const std::string fingerprint = device.fingerprint();
  std::vector<ChosenProblem> chosen;
  if (!words) {
    const std::vector<std::string> known = catalogue.names();
    for (const std::string& op : cache != nullptr ? cache->ops() : std::vector<std::string>()) {
      if (!holds(known, op)) {
        notes.push_back(fmt::format("{} is left out: its definition is not on this machine (--ops DIR).", op));
        continue;
      }
      add_winners(
          *cache, catalogue.find(op), [](const Problem&) { return true; }, fingerprint, mode, chosen, notes);
    }
  } else {
    const OpDefinition& definition = catalogue.find(words->op);
    const WantedProblems wanted = wanted_problems(*words, definition.interface);
    if (names_one(*words, definition.interface)) {
      return {named_problem(definition, *words, cache, fingerprint, mode, notes)};
    }
    if (cache != nullptr) add_winners(*cache, definition, wanted, fingerprint, mode, chosen, notes);
  }
  if (chosen.empty()) throw no_winner(cache, place, words ? words->op : "OP", device);
  return chosen;
}

std::optional<Store> open_if_there(const Place& place) {
  if (!std::filesystem::exists(cache_path(place))) return std::nullopt;
  require_own_cache(cache_path(place));
  return open_to_read(place);
}

}  // namespace tilewright::app
