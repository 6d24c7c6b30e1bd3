// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/sweep_revalidate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cache/error.hpp"
#include "cache/version.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/sweep_setup.hpp"
#include "tuner/cli/workplaces.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/sweep/revalidate.hpp"

namespace tilewright::cli {
namespace {

/// What became of one.
struct Line {
  StaleWinner before;
  Revalidated verdict = Revalidated::resweep;
  std::optional<Winner> now;
};

std::optional<Winner> winner_now(const Store& store, const StaleWinner& before, const SweepRequest& request) {
  const ProblemKey key{before.problem, request.definition->interface.hash(), before.fingerprint};
  auto row = store.winner_of(key, request.mode, WinnerRole::best);
  if (!row) return std::nullopt;
  return std::move(row->winner);
}

Table lines_table(const std::vector<Line>& lines) {
  Table table;
  table.title = "Revalidated";
  table.columns = {{"problem", "problem"},
                   {"verdict", "verdict"},
                   {"why", "stale since"},
                   {"config_before", "winner before"},
                   {"median_before_ns", "time", Unit::nanoseconds},
                   {"config", "winner now"},
                   {"median_ns", "time now", Unit::nanoseconds},
                   common_column("device", "device")};
  for (const Line& line : lines) {
    std::vector<Cell> cells{line.before.problem.key(), std::string(name(line.verdict)), line.before.why,
                            line.before.config.text(), line.before.median_ns};
    if (cells.emplace_back(); line.now) cells.back() = line.now->trial.config.text();
    if (cells.emplace_back(); line.now && line.now->trial.timing) cells.back() = line.now->trial.timing->median_ns;
    cells.emplace_back(line.before.fingerprint);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// The stale winners of one op.
class Revalidation {
 public:
  Revalidation(SweepRequest& request, Catalogue& catalogue, Workplaces& devices, Store& store, Progress& progress)
      : request_(request), catalogue_(catalogue), devices_(devices), store_(store), progress_(progress) {}

  /// False when interrupted, or some problem was left without a winner.
  bool run(const OpDefinition& definition, std::vector<Line>& lines) {
    request_.definition = &definition;
    const std::size_t first = lines.size();
    for (const Workplace* device : devices_.all()) find(*device, lines);
    request_.problems.clear();
    request_.only.clear();
    for (std::size_t i = first; i < lines.size(); ++i) {
      const StaleWinner& before = lines[i].before;
      request_.problems.push_back(before.problem);
      request_.only[before.problem.key()].insert(before.leaders.begin(), before.leaders.end());
    }
    if (request_.problems.empty()) return true;
    // All of the leaders are timed, whatever bounds the search for new ones.
    const std::string strategy = std::exchange(request_.strategy, "race");
    const auto most = std::exchange(request_.max_trials, {});
    bool all = sweep();
    request_.strategy = strategy;
    request_.max_trials = most;
    request_.problems.clear();
    request_.only.clear();
    for (std::size_t i = first; i < lines.size(); ++i) {
      const std::optional<Winner> now = fresh_winner(lines[i].before);
      lines[i].verdict = judge(lines[i].before, now ? &*now : nullptr);
      if (lines[i].verdict == Revalidated::resweep) request_.problems.push_back(lines[i].before.problem);
    }
    // What the leaders are now is known: a whole search goes on from there.
    if (!request_.problems.empty() && !interrupted()) all = sweep() && all;
    for (std::size_t i = first; i < lines.size(); ++i) lines[i].now = winner_now(store_, lines[i].before, request_);
    return all && !interrupted();
  }

 private:
  [[nodiscard]] Versions versions_of(const Workplace& device) const {
    return {device.driver_version(), request_.compiler->version(), version()};
  }

  void find(const Workplace& device, std::vector<Line>& lines) {
    const std::string fingerprint = device.facts().fingerprint();
    const bool known = std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
      return line.before.fingerprint == fingerprint && line.before.problem.spec.op == request_.definition->interface.op;
    });
    if (known) return;
    for (StaleWinner& stale :
         stale_winners(store_, *request_.definition, fingerprint, request_.mode, versions_of(device))) {
      lines.push_back({std::move(stale), Revalidated::resweep, std::nullopt});
    }
  }

  /// One that is no longer stale: where none of the leaders was right the old row is still there.
  [[nodiscard]] std::optional<Winner> fresh_winner(const StaleWinner& before) const {
    for (const Workplace* device : devices_.all()) {
      if (device->facts().fingerprint() != before.fingerprint) continue;
      for (const StaleWinner& stale :
           stale_winners(store_, *request_.definition, before.fingerprint, request_.mode, versions_of(*device))) {
        if (stale.problem == before.problem) return std::nullopt;
      }
    }
    return winner_now(store_, before, request_);
  }

  bool sweep() {
    const SweepSummary summary = run_sweep(request_, catalogue_, devices_.all(), store_, progress_, interrupted);
    progress_.end();
    for (const std::string& lost : summary.lost) progress_.note(lost);
    return !summary.interrupted && summary.without_winner == 0 && summary.lost.empty();
  }

  SweepRequest& request_;
  Catalogue& catalogue_;
  Workplaces& devices_;
  Store& store_;
  Progress& progress_;
};

}  // namespace

ExitCode run_sweep_revalidate(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  arguments.require_at_most(1);
  for (const char* option : {"shapes", "shapes-file", "dtype", "attr", "config"}) {
    if (arguments.has(option)) {
      throw UsageError(
          fmt::format("--revalidate takes its shapes from the stale winners: --{} does not go with it", option));
    }
  }
  const std::string op = arguments.words().empty() ? "" : arguments.words().front();
  Catalogue catalogue = open_catalogue(arguments);
  if (!op.empty()) (void)catalogue.find(op);
  SweepRequest request = sweep_request(arguments);
  Store store(cache_path(arguments));

  Progress progress(console, arguments.has("quiet"));
  const std::optional<SweepPlace> place = open_sweep(arguments, request, progress, console);
  if (!place) return ExitCode::partly;
  Workplaces* const devices = place->devices.get();
  Revalidation revalidation(request, catalogue, *devices, store, progress);
  const std::vector<std::string> known = catalogue.names();
  std::vector<Line> lines;
  bool all = devices->lost().empty();
  for (const std::string& lost : devices->lost()) console.say(lost);
  for (const std::string& name : store.ops()) {
    if (!op.empty() && name != op) continue;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      console.say(fmt::format("{} is left: there is no definition of it", name));
      continue;
    }
    all = revalidation.run(catalogue.find(name), lines) && all;
    if (interrupted()) break;
  }
  if (lines.empty()) {
    console.say(fmt::format("No winner in {} is stale: nothing to time again.", store.path().string()));
    return ExitCode::done;
  }
  Table table = lines_table(lines);
  table.notes.emplace_back(
      "kept, promoted: the fastest of those that led, timed again in turns. re-swept: none of them was as fast as the "
      "winner was, within 3 %, so all configs were searched.");
  console.print(table, format);
  return all ? ExitCode::done : ExitCode::partly;
}

}  // namespace tilewright::cli
