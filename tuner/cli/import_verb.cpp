// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cache/base/error.hpp"
#include "cache/base/file_facts.hpp"
#include "cache/store/bundle/bundle.hpp"
#include "cache/store/import.hpp"
#include "tuner/analysis/units.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/import_table.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/search/recording_file.hpp"

namespace tilewright::cli {
namespace {

constexpr std::size_t kToldConflicts = 10;

std::string evidence_text(const Trial& trial) {
  if (!trial.timing) return "no time";
  const Timing& timing = *trial.timing;
  const double half = timing.median_ns > 0 ? 50 * (timing.high_ns - timing.low_ns) / timing.median_ns : 0;
  return fmt::format("{} ± {:.2f} %, {} rounds", show_time(timing.median_ns), half, timing.rounds_ns.size());
}

/// Problems that the caches serve different configs for.
Table conflict_table(const std::vector<Conflict>& conflicts) {
  Table table;
  table.title = "Conflicts";
  table.columns = {{"problem", "problem"},
                   {"here", "config here"},
                   {"here_evidence", "evidence here"},
                   {"there", "config there"},
                   {"there_evidence", "evidence there"},
                   {"taken", "taken"},
                   {"mode", "mode"},
                   common_column("device", "device")};
  for (const Conflict& conflict : conflicts) {
    table.rows.push_back({conflict.problem, conflict.here.config.text(), evidence_text(conflict.here),
                          conflict.there.config.text(), evidence_text(conflict.there),
                          std::string(conflict.replaced ? "there" : "here"), std::string(name(conflict.mode)),
                          conflict.device});
  }
  table.notes.emplace_back(
      "Of two, the winner with the better evidence is taken; the other stays a trial or is not taken.");
  return table;
}

/// What came of several files, an op and a device a line.
void add_up(std::vector<OpCounts>& sum, const std::vector<OpCounts>& more) {
  for (const OpCounts& line : more) {
    const auto known = std::ranges::find_if(
        sum, [&](const OpCounts& each) { return each.op == line.op && each.device == line.device; });
    if (known == sum.end()) {
      sum.push_back(line);
      continue;
    }
    known->added += line.added;
    known->replaced += line.replaced;
    known->kept += line.kept;
    known->same += line.same;
    known->models += line.models;
    known->newer_models += line.newer_models;
  }
}

std::size_t sum_of(const std::vector<OpCounts>& lines, std::size_t OpCounts::*count) {
  std::size_t sum = 0;
  for (const OpCounts& line : lines) sum += line.*count;
  return sum;
}

/// A copy of one moment, which may be of an older schema; judged whole before anything is written.
Store open_source(const std::filesystem::path& file, Console& console) {
  if (!std::filesystem::exists(file)) {
    throw UsageError(fmt::format("there is no file {}; `tilewright export -o FILE` makes one", file.string()));
  }
  if (Bundle::is_one(file)) {
    throw UsageError(fmt::format(
        "{} is a bundle: it has winners and no evidence to weigh; import the cache that it was made of, or what "
        "`tilewright export -o FILE` makes of that",
        file.string()));
  }
  Store from = open_recording(file);
  from.check();
  if (writable_by_others(file)) {
    console.say(fmt::format("tilewright: note that others can write {}: its binaries are code that will run here",
                            file.string()));
  }
  return from;
}

/// Trials and nothing that can be served.
bool is_recording(const Store& source) {
  const Store::Counts counts = source.counts();
  return counts.trials > 0 && counts.winners == 0;
}

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  (void)arguments.word(0, "the file to import");
  const std::vector<std::string>& files = arguments.words();
  std::vector<Store> sources;
  for (const std::string& file : files) sources.push_back(open_source(file, console));
  Store to(cache_path(arguments));
  const Store::Counts before = to.counts();
  std::vector<OpCounts> done;
  std::vector<Conflict> conflicts;
  for (const Store& from : sources) add_up(done, import_winners(from, to, {}, &conflicts));
  const Store::Counts after = to.counts();
  const std::string from = fmt::format("{}", fmt::join(files, ", "));
  if (arguments.has("conflicts")) {
    console.print(conflict_table(conflicts), format);
  } else {
    Table table = import_table(fmt::format("Imported from {}", from), done, ImportColumns::imported);
    if (done.empty()) table.notes.push_back(fmt::format("{} has no winners: nothing was imported.", from));
    if (done.empty() && std::any_of(sources.begin(), sources.end(), is_recording)) {
      table.notes.emplace_back(
          "It has trials alone, as a recording has: `tilewright sweep OP --replay FILE` and `tilewright table OP "
          "--compare "
          "FILE FILE` read it.");
    }
    table.notes.push_back(fmt::format("{} gained {} trials, {} binaries and {} learned models.", to.path().string(),
                                      after.trials - before.trials, after.binaries - before.binaries,
                                      sum_of(done, &OpCounts::models)));
    if (const std::size_t newer = sum_of(done, &OpCounts::newer_models); newer > 0) {
      table.notes.push_back(
          fmt::format("{} learned models were not taken: what a newer Tilewright has learned stays.", newer));
    }
    console.print(table, format);
    // To people beside the result, so that a program reads one table.
    for (std::size_t i = 0; i < std::min(conflicts.size(), kToldConflicts); ++i) {
      const Conflict& conflict = conflicts[i];
      const Trial& taken = conflict.replaced ? conflict.there : conflict.here;
      const Trial& left = conflict.replaced ? conflict.here : conflict.there;
      console.say(fmt::format("Conflict: {}: {} ({}) goes before {} ({})", conflict.problem, taken.config.text(),
                              evidence_text(taken), left.config.text(), evidence_text(left)));
    }
    if (conflicts.size() > kToldConflicts) {
      console.say(fmt::format("{} conflicts in all; --conflicts lists them", conflicts.size()));
    }
  }
  return done.empty() ? ExitCode::failed : ExitCode::done;
}

}  // namespace

Verb import_verb() {
  Verb verb;
  verb.name = "import";
  verb.summary = "Bring the winners of other caches, such as exports, into the cache";
  verb.usage = "FILE... [OPTION...]";
  verb.description = {
      "All of a file or nothing: all files are read and checked whole first. Winners of different devices never mix. "
      "Where "
      "both "
      "have winners of a problem on a device, those with the better evidence stay: measured in 8 rounds or more, then "
      "with "
      "the narrower interval, then later. No trial is removed or changed, and the same file imported again changes "
      "nothing. Of configs that did not win, times are brought in where there are spares (tilewright prepare), and "
      "nothing elsewhere.",
      "Where the caches serve different configs for a problem, that is told, with the evidence of both.",
      "Binaries are code: import what you trust.",
  };
  verb.options = {{"conflicts", "", "Print the conflicts instead of what came in."}, kCache, kFormat};
  verb.examples = {{"tilewright import winners.db", "Then `tilewright table softmax` shows them."},
                   {"tilewright import winners.db.zst", "The same, packed: `zstd -19 winners.db` made it."},
                   {"tilewright import node1.db node2.db node3.db --conflicts", "What several machines found."}};
  verb.exit_codes =
      "0 done, 1 the file has no winners, or it or the cache cannot be used, 2 the command line is wrong.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
