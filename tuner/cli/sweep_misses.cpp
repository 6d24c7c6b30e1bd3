// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/sweep_misses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <set>

#include "cache/base/error.hpp"
#include "cache/store/miss_file.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/sweep_setup.hpp"
#include "tuner/cli/trial_devices.hpp"
#include "tuner/report/sources.hpp"

namespace tilewright::cli {
namespace {

MissFile open_misses() {
  if (const auto path = default_misses_path()) return MissFile(*path);
  throw UsageError(
      "no misses are recorded: TILEWRIGHT_MISSES is off, or there is no home folder; name their file with "
      "TILEWRIGHT_MISSES=FILE");
}

/// Misses that can be tuned, those of one op together.
struct Group {
  const OpDefinition* definition = nullptr;
  std::vector<Problem> problems;
  std::vector<Miss> misses;
};

/// Parts what these devices are asked for by op. What no definition at hand describes is told and left.
std::vector<Group> groups_of(const std::vector<Miss>& misses, Catalogue& catalogue, const std::string& op,
                             const std::vector<std::string>& devices, Console& console) {
  std::vector<Group> groups;
  std::size_t elsewhere = 0;
  for (const Miss& miss : misses) {
    const std::string name = miss.shape_key.substr(0, miss.shape_key.find_first_of("[{"));
    if (!op.empty() && name != op) continue;
    if (std::ranges::find(devices, miss.device_fingerprint) == devices.end()) {
      ++elsewhere;
      continue;
    }
    try {
      const OpDefinition& definition = catalogue.find(name);
      const Problem problem = parse_problem(miss.shape_key, definition.interface);
      check_sizes(definition, {problem});
      auto group = std::ranges::find(groups, &definition, &Group::definition);
      if (group == groups.end()) group = groups.insert(groups.end(), {&definition, {}, {}});
      if (std::ranges::find(group->problems, problem) == group->problems.end()) group->problems.push_back(problem);
      group->misses.push_back(miss);
    } catch (const UsageError& error) {
      console.say(fmt::format("{} is left out: {}", miss.shape_key, error.what()));
    }
  }
  if (elsewhere > 0) {
    console.say(fmt::format("{} of other devices are left (`tilewright list misses`)", elsewhere));
  }
  return groups;
}

/// Each with its winner; those that have one are forgotten.
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
  table.notes.push_back(fmt::format("{} tuned and forgotten in {}.", forgotten, file.path().string()));
  return table;
}

}  // namespace

ExitCode run_sweep_misses(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  arguments.require_at_most(1);
  for (const char* option : {"shapes", "shapes-file", "dtype", "attr"}) {
    if (arguments.has(option)) {
      throw UsageError(fmt::format("--misses takes its shapes from the misses: --{} does not go with it", option));
    }
  }
  const std::string op = arguments.words().empty() ? "" : arguments.words().front();
  Catalogue catalogue = open_catalogue(arguments);
  if (!op.empty()) (void)catalogue.find(op);
  SweepRequest request = sweep_request(arguments);
  const MissFile file = open_misses();
  const std::vector<Miss> misses = file.read();
  if (misses.empty()) {
    console.say(fmt::format("There are no misses in {}: nothing to tune.", file.path().string()));
    return ExitCode::done;
  }

  const bool quiet = arguments.has("quiet");
  Progress progress(console, quiet);
  const std::optional<SweepPlace> place = open_sweep(arguments, request, progress, console);
  if (!place) return ExitCode::partly;
  DevicePool* const devices = place->devices.get();
  const std::vector<Group> groups = groups_of(misses, catalogue, op, devices->fingerprints(), console);
  std::size_t problems_left = 0;
  for (const Group& group : groups) problems_left += group.problems.size();
  Store store(cache_path(arguments));

  bool partly = false;
  std::chrono::nanoseconds budget = request.budget;
  for (const Group& group : groups) {
    request.definition = group.definition;
    request.problems = group.problems;
    // The ops share the time as problems do.
    request.budget =
        budget * static_cast<std::int64_t>(group.problems.size()) / static_cast<std::int64_t>(problems_left);
    const auto start = std::chrono::steady_clock::now();
    const SweepSummary summary = run_sweep(request, catalogue, *devices, store, progress, interrupted);
    if (budget.count() > 0) {
      budget = std::max<std::chrono::nanoseconds>(budget - (std::chrono::steady_clock::now() - start),
                                                  std::chrono::nanoseconds(1));
    }
    problems_left -= group.problems.size();
    progress.end();
    if (!quiet) tell_summary(summary, store, console);
    for (const std::string& refusal : summary.refusals) console.say(refusal);
    for (const std::string& lost : summary.lost) console.say(lost);
    partly = partly || summary.interrupted || summary.without_winner > 0 || !summary.lost.empty();
    if (summary.interrupted) break;
  }
  // Without --quiet it was said when it came.
  for (const std::string& lost : devices->lost()) {
    partly = true;
    if (quiet) console.say(lost);
  }
  console.print(tuned_table(store, groups, request, file), format);
  return partly ? ExitCode::partly : ExitCode::done;
}

ExitCode list_misses(const Arguments& arguments, Console& console) {
  const MissFile file = open_misses();
  Table table;
  table.title = "Misses";
  table.columns = {{"problem", "problem"}, {"asked", "asked"}, {"last_at", "last asked"}, {"device", "device"}};
  for (const Miss& miss : file.read()) {
    const std::time_t last = miss.last_at;
    std::tm parts{};
    char text[32] = "";
    if (::gmtime_r(&last, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    table.rows.push_back({miss.shape_key, miss.count, std::string(text), miss.device_fingerprint});
  }
  table.notes.push_back(table.rows.empty() ? fmt::format("{} has none.", file.path().string())
                                           : "Tune them: tilewright sweep --misses");
  console.print(table, format_of(arguments));
  return ExitCode::done;
}

}  // namespace tilewright::cli
