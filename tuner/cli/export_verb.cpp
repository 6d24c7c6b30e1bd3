// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "cache/bundle/bundle.hpp"
#include "cache/error.hpp"
#include "cache/store/transfer.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/transfer_table.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/report/units.hpp"
#include "tuner/ship/cover_choice.hpp"
#include "tuner/ship/header.hpp"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

TransferFilter filter_of(const Arguments& arguments, const Store& store) {
  TransferFilter filter;
  filter.ops = arguments.words();
  const std::vector<std::string> known = store.ops();
  for (const std::string& op : filter.ops) {
    if (std::find(known.begin(), known.end(), op) != known.end()) continue;
    throw UsageError(fmt::format("the cache {} has no op '{}'{}", store.path().string(), op, suggestion(op, known)));
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

std::optional<Target> target_of(const Arguments& arguments) {
  std::optional<Target> target;
  for (const char* option : {"output", "bundle", "header"}) {
    if (!arguments.has(option)) continue;
    if (target) throw UsageError(fmt::format("--{} and --{}: one file at a time", target->option, option));
    target = Target{option, arguments.text(option)};
  }
  const bool recording = arguments.has("trials");
  if (recording && target && target->option != "output") {
    throw UsageError(fmt::format("--trials makes a cache: -o FILE, and not --{}", target->option));
  }
  if (arguments.has("cover")) {
    if (recording || (target && target->option == "output")) {
      throw UsageError("--cover goes with --bundle FILE or --header FILE, or alone to see what would be chosen");
    }
  } else if (!target) {
    throw UsageError("export needs a file to write: tilewright export -o winners.db, or --bundle or --header FILE");
  }
  if (target && fs::exists(target->file) && !arguments.has("force")) {
    throw UsageError(
        fmt::format("{} is there already; name another file, or replace it with --force", target->file.string()));
  }
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
std::vector<Transferred> count(const std::vector<WinnerRow>& rows) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> problems;
  for (const WinnerRow& row : rows) {
    problems[{row.problem.spec.op, row.device.fingerprint()}].insert(
        fmt::format("{} {}", row.problem.key(), name(row.mode)));
  }
  std::vector<Transferred> lines;
  for (const auto& [key, keys] : problems) lines.push_back({key.first, key.second, keys.size()});
  return lines;
}

void write_text(const fs::path& file, const std::string& text) {
  fs::path draft = file;
  draft += ".new";
  std::error_code error;
  {
    std::ofstream out(draft, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(draft, file, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(draft, ignored);
  throw Error(fmt::format("cannot write {} ({}). Nothing was written.", file.string(), error.message()));
}

std::string size_text(const fs::path& file) { return show_bytes(static_cast<double>(fs::file_size(file))); }

/// Writes bundle or header; notes for people.
std::vector<std::string> write_rows(const Store& store, const Target& target, const std::vector<WinnerRow>& rows) {
  std::vector<std::string> notes;
  if (target.option == "bundle") {
    const BundleCounts counts = write_bundle(store, rows, target.file);
    notes.push_back(fmt::format("{} has {} with {} winners and {} binaries.", target.file.string(),
                                size_text(target.file), counts.winners, counts.binaries));
    if (counts.without_binary > 0) {
      notes.push_back(fmt::format("{} winners have no stored binary and cannot be launched.", counts.without_binary));
    }
    return notes;
  }
  HeaderCounts counts;
  const std::string text = header_text(store, rows, counts);
  if (counts.shapes == 0) {
    throw Error(fmt::format("no winner can be written as a header, and nothing was written: {}",
                            counts.left_out.empty() ? "there is none" : counts.left_out.front()));
  }
  write_text(target.file, text);
  notes.push_back(fmt::format("{} has {} with {} shapes and {} binaries.", target.file.string(), size_text(target.file),
                              counts.shapes, counts.binaries));
  constexpr std::size_t kTold = 5;
  for (std::size_t i = 0; i < std::min(kTold, counts.left_out.size()); ++i) {
    notes.push_back(fmt::format("Left out: {}.", counts.left_out[i]));
  }
  if (counts.left_out.size() > kTold) notes.push_back(fmt::format("{} were left out.", counts.left_out.size()));
  return notes;
}

Error nothing_to_export(const Store& store, const char* what) {
  return Error(
      fmt::format("the cache {} has no such {} to export, and nothing was written; make some with "
                  "`tilewright sweep OP`",
                  store.path().string(), what));
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
    for (std::string& note : write_rows(store, *target, rows)) table.notes.push_back(std::move(note));
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
  // Of a cache of an older schema as well, except where another cache is made: what was measured once stays worth using.
  const bool older_too = recording || target->option != "output";
  const Store store = older_too ? Store(cache_path(arguments), {.access = StoreAccess::copy}) : open_to_read(arguments);
  const TransferFilter filter = filter_of(arguments, store);
  std::vector<std::string> notes;
  std::vector<Transferred> done;
  if (target->option == "output") {
    done = recording ? export_trials(store, target->file, filter) : export_winners(store, target->file, filter);
    if (done.empty()) throw nothing_to_export(store, recording ? "trial" : "winner");
    const Store made(target->file, {.access = StoreAccess::read});
    notes.push_back(fmt::format("{} has {} with {} trials and {} binaries.", target->file.string(),
                                size_text(target->file), made.counts().trials, made.counts().binaries));
  } else {
    const std::vector<WinnerRow> rows = winners_to_take(store, filter);
    if (rows.empty()) throw nothing_to_export(store, "winner");
    notes = write_rows(store, *target, rows);
    done = count(rows);
  }
  Table table = transfer_table(fmt::format("Exported from {}", store.path().string()), done, TransferColumns::exported);
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
  console.print(table, format);
  return ExitCode::done;
}

}  // namespace

Verb export_verb() {
  Verb verb;
  verb.name = "export";
  verb.summary = "Write the winners of the cache to be shipped: as a cache, a bundle or a C++ header";
  verb.usage = "{-o|--bundle|--header} FILE [OP...] [OPTION...]";
  verb.description = {
      "The file is a cache of its own: applications launch from it, also in a read-only folder, and `tilewright "
      "import` "
      "brings it into another cache. It has the winners of the ops named, or of all, their trials and binaries, and "
      "the "
      "ceilings of their devices; other trials stay behind. It is checked before it is put in its place.",
      "A bundle is smaller and is judged whole when it is opened: winners and binaries in one read-only file, for "
      "applications alone. A header is for those that want no files at run time: the tuned shapes of one GPU as "
      "constant "
      "data, with a constexpr lookup.",
      "--cover leaves out what is hardly needed: of all configs that were measured wholly it takes the fewest that "
      "serve "
      "every tuned shape within a factor of its best, beside the bases. It tells whether fewer were proven not to do; "
      "best "
      "after a sweep with --strategy exhaustive.",
  };
  verb.options = {
      {"output", "FILE", "A cache.", false, 'o'},
      {"bundle", "FILE", "A bundle."},
      {"header", "FILE", "A C++ header, for one GPU; with several in the cache, --device names it."},
      {"cover", "RATIO", "The fewest configs within this factor of the best, such as 1.05. Alone: only tell."},
      {"trials", "",
       "A recording instead: every trial with its rounds, and no winners, binaries or logs. For `tilewright sweep "
       "--replay`."},
      {"force", "", "Replace the file if it is there."},
      kDevice,
      kCache,
      kFormat,
  };
  verb.examples = {{"tilewright export -o winners.db softmax rmsnorm --device H200", "Two ops on one device."},
                   {"tilewright export --bundle winners.bundle --cover 1.05", "Few binaries, nearly as fast."},
                   {"tilewright export --trials -o sweep.db", "A recording of all that was measured."}};
  verb.exit_codes =
      "0 done, 1 there is no winner to export or a file cannot be read or written, 2 the command line is "
      "wrong.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
