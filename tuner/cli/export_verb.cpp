// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "cache/base/dtype.hpp"
#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "cache/store/bundle/bundle.hpp"
#include "cache/store/export.hpp"
#include "cache/store/import.hpp"
#include "tuner/analysis/units.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/export_texts.hpp"
#include "tuner/cli/import_table.hpp"
#include "tuner/cli/output_file.hpp"
#include "tuner/cli/problem_words.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/export/cover_choice.hpp"
#include "tuner/export/header.hpp"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

WinnerSelection filter_of(const Arguments& arguments, const Store& store) {
  WinnerSelection filter;
  std::map<std::string, std::vector<WantedProblems>> wanted;
  for (const ProblemWords& words : read_words_of_ops(arguments.words())) {
    const auto interface = store.interface_of(words.op);
    if (!interface) {
      throw UsageError(fmt::format("the cache {} has no op '{}'{}", store.path().string(), words.op,
                                   suggestion(words.op, store.ops())));
    }
    if (!holds(filter.ops, words.op)) filter.ops.push_back(words.op);
    wanted[words.op].push_back(wanted_problems(words, *interface));
  }
  if (!wanted.empty()) {
    filter.wanted = [wanted = std::move(wanted)](const Problem& problem) {
      const auto& of_op = wanted.at(problem.spec.op);
      return std::any_of(of_op.begin(), of_op.end(), [&](const WantedProblems& each) { return each(problem); });
    };
  }
  if (arguments.has("device")) {
    for (const DeviceFacts& device : choose_devices(store, arguments.text("device"))) {
      filter.devices.push_back(device.fingerprint());
    }
  }
  return filter;
}

/// What is written, and where to; a cover alone may be looked at and not written.
struct Target {
  std::string option;
  fs::path file;
};

bool is_text_export(const std::string& option) {
  return std::find(text_exports().begin(), text_exports().end(), option) != text_exports().end();
}

/// Nothing that may be missed stands where the target goes.
void require_free(const Target& target, const Arguments& arguments) {
  const std::string file = target.file.string();
  OutputFile::refuse_cache(target.file, cache_path(arguments));
  if (OutputFile::replaces(target.file)) {
    if (arguments.has("force")) return;
    throw UsageError(fmt::format("{} is there already; name another file, or replace it with --force", file));
  }
  // Both are read again before they are put in their place.
  const bool read_again = target.option == "output" || target.option == "bundle";
  if (read_again && fs::exists(target.file)) {
    throw UsageError(fmt::format("--{} makes a regular file, and {} is none; name another", target.option, file));
  }
}

std::optional<Target> target_of(const Arguments& arguments) {
  std::optional<Target> target;
  std::vector<std::string> options{"output", "bundle", "header"};
  options.insert(options.end(), text_exports().begin(), text_exports().end());
  for (const std::string& option : options) {
    if (!arguments.has(option)) continue;
    if (target) throw UsageError(fmt::format("--{} and --{}: one file at a time", target->option, option));
    target = Target{option, arguments.text(option)};
  }
  const bool recording = arguments.has("trials");
  if (recording && target && target->option != "output") {
    throw UsageError(fmt::format("--trials makes a cache: -o FILE, and not --{}", target->option));
  }
  if (arguments.has("cover")) {
    if (recording || (target && target->option != "bundle" && target->option != "header")) {
      throw UsageError("--cover goes with --bundle FILE or --header FILE, or alone to see what would be chosen");
    }
  } else if (!target) {
    throw UsageError(
        "export needs a file to write: tilewright export -o winners.db, or --bundle, --header, --csv, --jsonl, --t4 or "
        "--google-benchmark FILE");
  }
  for (const char* option : {"dtype", "mode"}) {
    if (!arguments.has(option) || (target && is_text_export(target->option))) continue;
    throw UsageError(fmt::format("--{} goes with --{}", option, fmt::join(text_exports(), ", --")));
  }
  if (target && OutputFile::is_standard_output(target->file)) {
    if (is_text_export(target->option)) return target;
    throw UsageError(fmt::format("--{} writes a file, not to standard output", target->option));
  }
  if (target) require_free(*target, arguments);
  return target;
}

double ratio_of(const Arguments& arguments) {
  const std::string text = arguments.text("cover");
  double ratio = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
  if (error != std::errc() || end != text.data() + text.size() || !(ratio >= 1) || ratio > 1000) {
    throw UsageError(fmt::format(
        "--cover takes the time that a shape may take over its best, such as 1.05, and was given '{}'", text));
  }
  return ratio;
}

Table cover_table(double ratio, const std::vector<CoverChoice>& choices) {
  Table table;
  table.title = fmt::format("The fewest configs within {:.4g} of the best", ratio);
  table.columns = {{"spec", "op"},
                   {"shapes", "shapes"},
                   {"winners", "winners"},
                   {"chosen", "chosen"},
                   {"proven", "fewest"},
                   {"mean_ratio", "mean", Unit::ratio},
                   {"worst_ratio", "worst", Unit::ratio},
                   {"mode", "mode"},
                   {"device", "device"}};
  bool all_proven = true;
  for (const CoverChoice& choice : choices) {
    table.rows.push_back({choice.spec, static_cast<std::int64_t>(choice.shapes),
                          static_cast<std::int64_t>(choice.winners), static_cast<std::int64_t>(choice.chosen),
                          choice.proven, choice.mean_ratio, choice.worst_ratio, std::string(name(choice.mode)),
                          choice.device});
    all_proven = all_proven && choice.proven;
  }
  table.notes.emplace_back(
      "A config with specialised dims counts once for each value of them; the bases are among the chosen.");
  if (!all_proven) {
    table.notes.emplace_back("Where it is not known that no fewer will do, the best that was found in time is taken.");
  }
  return table;
}

/// A line an op and device, with its problems.
std::vector<OpCounts> count(const std::vector<WinnerRow>& rows) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> problems;
  for (const WinnerRow& row : rows) {
    problems[{row.problem.spec.op, row.device.fingerprint()}].insert(
        fmt::format("{} {}", row.problem.key(), name(row.mode)));
  }
  std::vector<OpCounts> lines;
  for (const auto& [key, keys] : problems) lines.push_back({key.first, key.second, keys.size()});
  return lines;
}

std::string size_text(const fs::path& file) { return show_bytes(static_cast<double>(fs::file_size(file))); }

/// Writes bundle or header; notes for people.
std::vector<std::string> write_rows(const Store& store, const Target& target, const std::vector<WinnerRow>& rows,
                                    Console& console) {
  std::vector<std::string> notes;
  if (target.option == "bundle") {
    const BundleCounts counts = write_bundle(store, rows, target.file);
    std::size_t problems = 0;
    for (const OpCounts& line : count(rows)) problems += line.added;
    notes.push_back(fmt::format("{} has {}: {} problems served, {} configs kept for them, {} binaries.",
                                target.file.string(), size_text(target.file), problems, counts.winners,
                                counts.binaries));
    if (counts.without_binary > 0) {
      notes.push_back(
          fmt::format("{} of the configs kept have no stored binary and cannot be launched.", counts.without_binary));
    }
    return notes;
  }
  HeaderCounts counts;
  const std::string text = header_text(store, rows, counts);
  if (counts.shapes == 0) {
    throw Error(fmt::format("no winner can be written as a header, and nothing was written: {}",
                            counts.left_out.empty() ? "there is none" : counts.left_out.front()));
  }
  OutputFile output(target.file, console);
  output.write(text);
  output.commit();
  notes.push_back(fmt::format("{} has {} with {} shapes and {} binaries.", target.file.string(),
                              show_bytes(static_cast<double>(output.bytes())), counts.shapes, counts.binaries));
  if (counts.spares > 0) {
    notes.push_back(fmt::format(
        "{} spares stay behind: a header serves the shapes that were tuned and no others; --bundle takes them along.",
        counts.spares));
  }
  constexpr std::size_t kTold = 5;
  for (std::size_t i = 0; i < std::min(kTold, counts.left_out.size()); ++i) {
    notes.push_back(fmt::format("Left out: {}.", counts.left_out[i]));
  }
  if (counts.left_out.size() > kTold) notes.push_back(fmt::format("{} were left out.", counts.left_out.size()));
  return notes;
}

ExitCode export_cover(const Arguments& arguments, Console& console, const std::optional<Target>& target) {
  const Format format = format_of(arguments);
  const double ratio = ratio_of(arguments);
  const Store store(cache_path(arguments), {.access = StoreAccess::copy});
  const std::vector<CoverChoice> choices = choose_cover(store, ratio, filter_of(arguments, store), target.has_value());
  if (choices.empty()) throw nothing_to_export(store, "trial");
  Table table = cover_table(ratio, choices);
  if (target) {
    std::vector<WinnerRow> rows;
    for (const CoverChoice& choice : choices) rows.insert(rows.end(), choice.rows.begin(), choice.rows.end());
    for (std::string& note : write_rows(store, *target, rows, console)) table.notes.push_back(std::move(note));
  } else {
    table.notes.emplace_back("Nothing was written: name a file with --bundle or --header.");
  }
  console.print(table, format);
  return ExitCode::done;
}

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const std::optional<Target> target = target_of(arguments);
  if (arguments.has("cover")) return export_cover(arguments, console, target);
  const bool recording = arguments.has("trials");
  // All of one moment, except where another cache is made: its binaries may be more than memory holds.
  const bool copied = recording || target->option != "output";
  const Store store = copied ? Store(cache_path(arguments), {.access = StoreAccess::copy}) : open_to_read(arguments);
  const WinnerSelection filter = filter_of(arguments, store);
  if (is_text_export(target->option)) {
    return export_text(arguments, console, store, filter, target->option, target->file);
  }
  std::vector<std::string> notes;
  std::vector<OpCounts> done;
  if (target->option == "output") {
    done = recording ? export_trials(store, target->file, filter) : export_winners(store, target->file, filter);
    if (done.empty()) throw nothing_to_export(store, recording ? "trial" : "winner");
    const Store made(target->file, {.access = StoreAccess::read});
    const Store::Counts counts = made.counts();
    notes.push_back(fmt::format("{} has {} with {} trials, {} binaries and {} learned models.", target->file.string(),
                                size_text(target->file), counts.trials, counts.binaries, counts.models));
    const std::int64_t others = store.counts().trials - counts.trials;
    // Of a part, those of the rest of the cache are not meant.
    const bool is_whole = filter.ops.empty() && filter.devices.empty() && !filter.wanted;
    if (!recording && is_whole && others > 0) {
      notes.push_back(fmt::format("{} stay behind, failed ones included: --trials, --csv and --jsonl take them.",
                                  counted(static_cast<std::size_t>(others), "other trial")));
    }
  } else {
    const std::vector<WinnerRow> rows = selected_winners(store, filter);
    if (rows.empty()) throw nothing_to_export(store, "winner");
    notes = write_rows(store, *target, rows, console);
    done = count(rows);
  }
  Table table = import_table(fmt::format("Exported from {}", store.path().string()), done, ImportColumns::exported);
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
  console.print(table, format);
  return ExitCode::done;
}

}  // namespace

Verb export_verb() {
  Verb verb;
  verb.name = "export";
  verb.summary = "Write winners to be shipped (a cache, a bundle, a C++ header), or all trials for other programs";
  verb.usage = "{-o|--bundle|--header|--csv|--jsonl|--t4|--google-benchmark} FILE [OP [NAME=VALUES...]]... [OPTION...]";
  verb.description = {
      "-o makes a cache of its own: applications launch from it, also in a read-only folder, and `tilewright import` "
      "brings it into another cache. It has the winners, their trials and binaries, and the ceilings of their devices. "
      "What is not needed to launch stays behind: trials of configs that did not win, failed ones included. They go "
      "along with --trials, --csv and --jsonl. Of ops with spares (tilewright prepare) an export has besides the times "
      "of all configs, for who learns of them anew.",
      "Without an OP, of all ops. Behind an OP its problems may be narrowed, as for `tilewright table`: softmax "
      "dtype=bf16 "
      "cols=4096,8192 rmsnorm takes some of softmax and all of rmsnorm.",
      "A bundle is smaller and is judged whole when it is opened: winners and binaries in one read-only file, for "
      "applications alone. A header is for those that want no files at run time: the tuned shapes of one GPU as "
      "constant data, with a constexpr lookup. It serves no other shapes, so spares (tilewright prepare) are not in "
      "it.",
      "--cover leaves out what is hardly needed: of all configs that were measured wholly it takes the fewest that "
      "serve "
      "every tuned shape within a factor of its best, beside the bases. It tells whether fewer were proven not to do; "
      "best "
      "after a sweep with --strategy exhaustive.",
      "For other programs, FILE or - for standard output: --csv and --jsonl have every trial, failures with their "
      "reasons "
      "included, in full precision and with units in the names; --t4 is the format that autotuners share, schema 1.0.0 "
      "of "
      "results and of metadata in one file; --google-benchmark has the winners as `tilewright bench` would report "
      "them, for "
      "compare.py.",
  };
  verb.options = {
      {"output", "FILE", "A cache.", false, 'o'},
      {"bundle", "FILE", "A bundle."},
      {"header", "FILE", "A C++ header, for one GPU; with several in the cache, --device names it."},
      {"csv", "FILE", "All trials, a line each; attributes, dims and parameters in columns of their own."},
      {"jsonl", "FILE", "All trials, a JSON object a line, with the time of each round."},
      {"t4", "FILE", "All trials that were made, in T4."},
      {"google-benchmark", "FILE", "Winners as results of Google Benchmark; of one device, --device names it."},
      {.name = "dtype",
       .value = "LIST",
       .help = "For other programs: only these types.",
       .words = dtype_names(),
       .list = true,
       .takes = Takes::dtypes},
      {.name = "mode",
       .value = "MODE",
       .help = "For other programs: only what was timed so, cold, hot or events. Default: all.",
       .words = {"cold", "hot", "events"}},
      {"cover", "RATIO", "The fewest configs within this factor of the best, such as 1.05. Alone: only tell."},
      {"trials", "",
       "A recording instead: of every config the newest trial with its rounds, failed or not, and no winners, binaries "
       "or "
       "logs. `tilewright sweep --replay` and `table --compare` read it; `import` does not."},
      {"force", "", "Replace the file if it is there."},
      kDevice,
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {{"tilewright export -o winners.db softmax rmsnorm --device H200", "Two ops on one device."},
                   {"tilewright export -o bf16.db softmax dtype=bf16 cols=4096,8192", "Some problems of an op."},
                   {"tilewright export --bundle winners.bundle --cover 1.05", "Few binaries, nearly as fast."},
                   {"tilewright export --header winners.hpp softmax --device H200",
                    "Constant data, for a program that reads no files."},
                   {"tilewright export --trials -o sweep.db", "A recording of all that was measured."},
                   {"tilewright export --csv trials.csv softmax --dtype bf16", "For a spreadsheet or pandas."},
                   {"tilewright export --google-benchmark before.json --device H200", "To compare a later run with."}};
  verb.exit_codes =
      "0 done, 1 there is nothing to export or a file cannot be read or written, 2 the command line is "
      "wrong.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
