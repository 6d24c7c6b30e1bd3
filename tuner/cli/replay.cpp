// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cache/error.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/search_options.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/report/units.hpp"
#include "tuner/search/recording_file.hpp"
#include "tuner/search/replay.hpp"

namespace tilewright::cli {
namespace {

/// What one strategy did with one problem, beside what measuring all of it costs.
struct Line {
  Replayed replayed;
  double all_ns = 0;
};

Table lines_table(const std::vector<Line>& lines) {
  Table table;
  table.title = "Replayed";
  fill(table,
       std::vector<Source<Line>>{
           {column("strategy", "strategy"), [](const Line& line) { return Cell(line.replayed.strategy); }},
           {column("shape_key", "problem"), [](const Line& line) { return Cell(line.replayed.problem.key()); }},
           {column("candidates", "configs"),
            [](const Line& line) { return Cell(static_cast<std::int64_t>(line.replayed.candidates)); }},
           {column("trials", "trials"),
            [](const Line& line) { return Cell(static_cast<std::int64_t>(line.replayed.trials)); }},
           {column("measuring_ns", "measuring", Unit::nanoseconds),
            [](const Line& line) { return Cell(line.replayed.measuring_ns); }},
           {column("measuring_share", "of exhaustive", Unit::share),
            [](const Line& line) { return Cell(line.replayed.measuring_ns / line.all_ns); }},
           {column("loss", "loss", Unit::share), [](const Line& line) { return Cell(line.replayed.loss); }},
           {column("winner", "winner"), [](const Line& line) { return Cell(line.replayed.winner.text()); }},
       },
       lines);
  return table;
}

/// One strategy over all problems.
std::string summary_of(const std::string& strategy, const std::vector<Line>& lines) {
  std::size_t problems = 0;
  std::size_t within_one = 0;
  std::size_t within_three = 0;
  std::size_t trials = 0;
  std::size_t candidates = 0;
  double spent = 0;
  double all = 0;
  double worst = 0;
  for (const Line& line : lines) {
    if (line.replayed.strategy != strategy) continue;
    ++problems;
    within_one += line.replayed.loss <= 0.01 ? 1U : 0U;
    within_three += line.replayed.loss <= 0.03 ? 1U : 0U;
    trials += line.replayed.trials;
    candidates += line.replayed.candidates;
    spent += line.replayed.measuring_ns;
    all += line.all_ns;
    worst = std::max(worst, line.replayed.loss);
  }
  const auto share = [](auto part, auto whole) {
    return show_share(static_cast<double>(part) / static_cast<double>(whole));
  };
  return fmt::format(
      "{}: within 1 % of exhaustive on {} of {} problems ({}), within 3 % on {} ({}), at worst {} slower; {} of the "
      "trials, {} of the measuring time.",
      strategy, within_one, problems, share(within_one, problems), within_three, share(within_three, problems),
      show_share(worst), share(trials, candidates), share(spent, all));
}

}  // namespace

ExitCode run_replay(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  arguments.require_at_most(1);
  if (arguments.has("budget")) throw UsageError("--budget bounds a sweep; a replay takes no time: use --max-trials");
  std::vector<std::string> strategies = strategy_names();
  if (arguments.has("strategy")) strategies = {strategy_of(arguments, "")};
  const Store store = open_recording(arguments.text("replay"));
  const std::string op = arguments.words().empty() ? "" : arguments.words().front();
  const std::vector<Recording> recordings = read_recordings(store, op);
  if (recordings.empty()) {
    throw Error(
        fmt::format("{} has no trials{} that were measured wholly, with their rounds: record some with "
                    "`tilewright sweep --strategy exhaustive`",
                    store.path().string(), op.empty() ? "" : " of " + op));
  }
  ReplaySetting setting;
  setting.seed = static_cast<std::uint64_t>(arguments.integer("seed", 1, 0));
  setting.max_trials = static_cast<std::size_t>(arguments.integer("max-trials", 0, 1));
  Catalogue catalogue = open_catalogue(arguments);
  const std::vector<std::string> known = catalogue.names();
  std::set<std::string> ops;
  for (const Recording& recording : recordings) ops.insert(recording.problem.spec.op);
  for (const std::string& name : ops) {
    if (std::find(known.begin(), known.end(), name) != known.end()) setting.bases[name] = catalogue.find(name).base;
  }

  const std::vector<Replayed> all =
      replay(recordings, "exhaustive", {.seed = setting.seed, .max_trials = 0, .bases = setting.bases});
  std::vector<Line> lines;
  for (const std::string& strategy : strategies) {
    const std::vector<Replayed> results = replay(recordings, strategy, setting);
    for (std::size_t i = 0; i < results.size(); ++i) lines.push_back({results[i], all[i].measuring_ns});
  }
  Table table = lines_table(lines);
  for (const std::string& strategy : strategies) table.notes.push_back(summary_of(strategy, lines));
  console.print(table, format);
  return ExitCode::done;
}

}  // namespace tilewright::cli
