// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/misses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "cache/store/miss_file.hpp"
#include "tuner/report/sources.hpp"

namespace tilewright::app {
namespace {

MissFile open_misses() {
  if (const auto path = default_misses_path()) return MissFile(*path);
  throw UsageError(
      "no misses are recorded: TILEWRIGHT_MISSES is off, or there is no home folder; name their file with "
      "TILEWRIGHT_MISSES=FILE");
}

/// The tunable misses of one op.
struct Group {
  const OpDefinition* definition = nullptr;
  std::vector<Problem> problems;
  std::vector<Miss> misses;
};

/// Groups the misses of these devices by op. Reports and leaves those that no definition here describes.
std::vector<Group> groups_of(const std::vector<Miss>& misses, Catalogue& catalogue, const std::string& op,
                             const std::vector<std::string>& devices, Listener& listener) {
  std::vector<Group> groups;
  std::size_t elsewhere = 0;
  for (const Miss& miss : misses) {
    try {
      const std::string name = op_name_of(miss.shape_key);
      if (!op.empty() && name != op) continue;
      if (std::ranges::find(devices, miss.device_fingerprint) == devices.end()) {
        ++elsewhere;
        continue;
      }
      const OpDefinition& definition = catalogue.find(name);
      const Problem problem = parse_problem(miss.shape_key, definition.interface);
      check_sizes(definition, {problem});
      auto group = std::ranges::find(groups, &definition, &Group::definition);
      if (group == groups.end()) group = groups.insert(groups.end(), {&definition, {}, {}});
      if (std::ranges::find(group->problems, problem) == group->problems.end()) group->problems.push_back(problem);
      group->misses.push_back(miss);
    } catch (const UsageError& error) {
      listener.warn(fmt::format("{} is left out: {}", miss.shape_key, error.what()));
    }
  }
  if (elsewhere > 0) {
    listener.warn(fmt::format("{} of other devices are left (`tilewright list misses`)", elsewhere));
  }
  return groups;
}

/// The misses with their winners; a miss with a winner is removed from the file.
Table tuned_table(const Store& store, const std::vector<Group>& groups, const SweepRequest& request,
                  const MissFile& file) {
  Table table;
  table.title = "Misses";
  table.columns = {{"problem", "problem"},
                   {"asked", "asked"},
                   {"config", "winner"},
                   {"median_ns", "time", Unit::nanoseconds},
                   common_column("device", "device")};
  std::vector<Miss> tuned;
  for (const Group& group : groups) {
    const std::string hash = group.definition->interface.hash();
    for (const Miss& miss : group.misses) {
      const ProblemKey key{parse_problem(miss.shape_key, group.definition->interface), hash, miss.device_fingerprint};
      const auto row = store.winner_of(key, request.mode, WinnerRole::best);
      std::vector<Cell> cells{miss.shape_key, miss.count};
      if (cells.emplace_back(); row) cells.back() = row->winner.trial.config.text();
      if (cells.emplace_back(); row && row->winner.trial.timing) cells.back() = row->winner.trial.timing->median_ns;
      cells.emplace_back(miss.device_fingerprint);
      table.rows.push_back(std::move(cells));
      if (row) tuned.push_back(miss);
    }
  }
  const std::size_t forgotten = file.remove(tuned);
  table.notes.push_back(fmt::format("{} tuned, and removed from {}.", forgotten, file.path().string()));
  return table;
}

}  // namespace

MissesResult sweep_misses(const MissesRequest& asked, Listener& listener) {
  Catalogue catalogue = open_catalogue(asked.place);
  if (!asked.op.empty()) static_cast<void>(catalogue.find(asked.op));
  const MissFile file = open_misses();
  const std::vector<Miss> misses = file.read();
  if (misses.empty()) {
    listener.warn(fmt::format("There are no misses in {}: nothing to tune.", file.path().string()));
    return {};
  }
  SweepRequest request;
  const std::optional<SweepPlace> place = open_sweep(asked.place, asked.tuning, request, listener);
  if (!place) return {std::nullopt, false};
  const std::vector<Group> groups = groups_of(misses, catalogue, asked.op, place->devices->fingerprints(), listener);
  std::size_t problems = 0;
  for (const Group& group : groups) problems += group.problems.size();
  Store store(cache_path(asked.place));

  MissesResult result;
  SharedBudget budget(request.budget, problems);
  for (const Group& group : groups) {
    request.definition = group.definition;
    request.problems = group.problems;
    request.budget = budget.start(group.problems.size());
    const SweepSummary summary = run_told(request, catalogue, *place->devices, store, listener, store.path());
    budget.end();
    for (const std::string& refusal : summary.refusals) listener.warn(refusal);
    for (const std::string& lost : summary.lost) listener.warn(lost);
    result.whole = result.whole && is_whole(summary);
    if (summary.interrupted) break;
  }
  result.table = tuned_table(store, groups, request, file);
  for (const std::string& lost : place->devices->lost()) {
    result.whole = false;
    result.table->notes.push_back(lost + ".");
  }
  return result;
}

Table list_misses() {
  const MissFile file = open_misses();
  Table table = misses_table(file.read());
  table.notes.push_back(table.rows.empty() ? fmt::format("{} has none.", file.path().string())
                                           : "Tune them: tilewright sweep --misses");
  return table;
}

Table misses_table(std::span<const Miss> misses) {
  Table table;
  table.title = "Misses";
  table.columns = {{"problem", "problem"}, {"asked", "asked"}, {"last_at", "last asked"}, {"device", "device"}};
  for (const Miss& miss : misses) {
    table.rows.push_back({miss.shape_key, miss.count, iso_moment(miss.last_at), miss.device_fingerprint});
  }
  return table;
}

}  // namespace tilewright::app
