// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "cache/base/dtype.hpp"
#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/output_file.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

/// The options of app::TextForm, in its order.
const std::vector<std::string>& text_options() {
  static const std::vector<std::string> kOptions{"csv", "jsonl", "t4", "google-benchmark"};
  return kOptions;
}

/// The option that names the form, and its file.
struct Target {
  std::string option;
  fs::path file;
};

bool is_text_export(const std::string& option) {
  return std::find(text_options().begin(), text_options().end(), option) != text_options().end();
}

/// Throws UsageError if writing the target would lose a file.
void require_free(const Target& target, const Arguments& arguments) {
  const std::string file = target.file.string();
  OutputFile::refuse_cache(target.file, app::cache_path(place_of(arguments)));
  if (OutputFile::replaces(target.file)) {
    if (arguments.has("force")) return;
    throw UsageError(fmt::format("{} is there already; name another file, or replace it with --force", file));
  }
  // Both are read again before they are put in place.
  const bool read_again = target.option == "output" || target.option == "bundle";
  if (read_again && fs::exists(target.file)) {
    throw UsageError(fmt::format("--{} makes a regular file, and {} is none; name another", target.option, file));
  }
}

std::optional<Target> target_of(const Arguments& arguments) {
  std::optional<Target> target;
  std::vector<std::string> options{"output", "bundle", "header", "pack"};
  options.insert(options.end(), text_options().begin(), text_options().end());
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
        "export needs a file to write: tilewright export -o winners.db, or --bundle, --header, --pack, --csv, --jsonl, "
        "--t4 or --google-benchmark FILE");
  }
  for (const char* option : {"dtype", "mode"}) {
    if (!arguments.has(option) || (target && is_text_export(target->option))) continue;
    throw UsageError(fmt::format("--{} goes with --{}", option, fmt::join(text_options(), ", --")));
  }
  if (target && OutputFile::is_standard_output(target->file)) {
    if (is_text_export(target->option)) return target;
    throw UsageError(fmt::format("--{} writes a file, not to standard output", target->option));
  }
  if (target && target->option != "pack") require_free(*target, arguments);
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

app::ExportRequest request_of(const Arguments& arguments) {
  app::ExportRequest request{
      place_of(arguments), app::read_words_of_ops(arguments.words()), arguments.text("device"), {}, mode_of(arguments)};
  if (arguments.has("dtype")) {
    for (const std::string& typed : app::split_list(arguments.text("dtype"))) {
      request.dtypes.push_back(dtype_from(typed).value());
    }
  }
  return request;
}

ExitCode export_text(const app::ExportRequest& request, const Target& target, Format format, Console& console) {
  const auto form =
      static_cast<app::TextForm>(std::ranges::find(text_options(), target.option) - text_options().begin());
  OutputFile output(target.file, console);
  app::Exported done = app::export_text(request, form, [&](std::string_view text) { output.write(text); });
  output.commit();
  if (OutputFile::is_standard_output(target.file)) {
    for (const std::string& note : done.notes) console.say(note);
    return ExitCode::done;
  }
  done.notes.front() = fmt::format("{} has {}. {}", target.file.string(),
                                   show_bytes(static_cast<double>(output.bytes())), done.notes.front());
  console.print(app::table_of(done, request.place), format);
  return ExitCode::done;
}

ExitCode run_export(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const std::optional<Target> target = target_of(arguments);
  const app::ExportRequest request = request_of(arguments);
  if (target && target->option == "pack") {
    const app::Exported done =
        app::export_packs(request, target->file, [&](const std::string& line) { console.say(line); });
    console.print(app::table_of(done, request.place), format);
    return ExitCode::done;
  }
  if (target && is_text_export(target->option)) return export_text(request, *target, format, console);
  // A header is written whole, or not at all if there is nothing to write.
  const auto write = [&](std::string_view text) {
    OutputFile output(target->file, console);
    output.write(text);
    output.commit();
  };
  std::optional<app::RowsForm> form;
  if (target && target->option == "bundle") form = app::RowsForm::bundle;
  if (target && target->option == "header") form = app::RowsForm::header;
  if (arguments.has("cover")) {
    console.print(app::cover(request, ratio_of(arguments), form, target ? target->file : fs::path(), write), format);
    return ExitCode::done;
  }
  const app::Exported done = form ? app::export_rows(request, *form, target->file, write)
                                  : app::export_cache(request, target->file, arguments.has("trials"));
  console.print(app::table_of(done, request.place), format);
  return ExitCode::done;
}

}  // namespace

Verb export_verb() {
  Verb verb;
  verb.name = "export";
  verb.summary = "Write winners to ship (a cache, a bundle, a C++ header), or all trials for other programs";
  verb.usage =
      "{-o|--bundle|--header|--pack|--csv|--jsonl|--t4|--google-benchmark} FILE [OP [NAME=VALUES...]]... [OPTION...]";
  verb.description = {
      "-o writes a cache: applications launch from it, even in a read-only folder, and `tilewright import` merges it "
      "into another cache. It has the winners, their trials and binaries, and the ceilings of their devices. Of the "
      "other configs of their problems it has the newest time or failure, from which others can learn anew. Older and "
      "pruned trials stay behind: --csv and --jsonl write them; --trials keeps the rounds of each newest trial.",
      "Without OP all ops are exported. Words after an OP narrow its problems, as for `tilewright table`: softmax "
      "dtype=bf16 cols=4096,8192 rmsnorm takes some of softmax and all of rmsnorm.",
      "A bundle is smaller: winners and binaries in one read-only file, for applications only. Its index is checked "
      "when it is opened, each binary when it is read. A header is for programs that read no files at run time: the "
      "tuned shapes of one GPU as "
      "constant data, with a constexpr lookup. It serves no other shapes, so it has no spares (tilewright prepare).",
      "--cover exports few configs: of the wholly measured ones, the fewest that serve each tuned shape within a "
      "factor of its best, and the bases. It reports whether fewer are proven not to suffice. It works best after a "
      "sweep with --strategy exhaustive.",
      "For other programs, to FILE or to standard output (-): --csv and --jsonl write all trials with reasons of "
      "failures, full precision and units in the names; --t4 writes the format that autotuners share, schema 1.0.0 of "
      "results and of metadata in one file; --google-benchmark writes the winners as `tilewright "
      "bench` reports them, for compare.py.",
  };
  verb.options = {
      {"output", "FILE", "Write a cache.", false, 'o'},
      {"bundle", "FILE", "Write a bundle."},
      {"header", "FILE", "Write a C++ header for one GPU; --device selects it if the cache has several."},
      {"pack", "FOLDER",
       "Write all trials as packs: immutable files of at most 4 MiB, each of one op, dtype and implementation, that "
       "`tilewright import` folds into a cache. Existing packs stay, and problems of which they have everything are "
       "left out. In an empty folder the same trials give the same files."},
      {"csv", "FILE", "Write all trials, one per line; attributes, dims and parameters have columns of their own."},
      {"jsonl", "FILE", "Write all trials, one JSON object per line, with the time of each round."},
      {"t4", "FILE", "Write all trials in T4, except those of pruned configs."},
      {"google-benchmark", "FILE",
       "Write winners as results of Google Benchmark, for one device; --device selects it."},
      {.name = "dtype",
       .value = "LIST",
       .help = "For other programs: only these types.",
       .words = dtype_names(),
       .list = true,
       .takes = Takes::dtypes},
      {.name = "mode",
       .value = "MODE",
       .help = "For other programs: only trials of this mode, cold, hot or events. Default: all.",
       .words = {"cold", "hot", "events"}},
      {"cover", "RATIO",
       "Export the fewest configs within this factor of the best, such as 1.05. Without a file: only print them."},
      {"trials", "",
       "Write a recording instead: the newest trial of each config with its rounds, failed or not, without winners, "
       "binaries or logs. `tilewright sweep --replay` and `table --compare` read it; `import` does not."},
      {"force", "", "Replace an existing file."},
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
                   {"tilewright export --trials -o sweep.db", "A recording of all measurements."},
                   {"tilewright export --pack packs softmax", "All trials of an op, to keep."},
                   {"tilewright export --csv trials.csv softmax --dtype bf16", "For a spreadsheet or pandas."},
                   {"tilewright export --google-benchmark before.json --device H200", "A baseline for a later run."}};
  verb.exit_codes =
      "0 done, 1 there is nothing to export or a file cannot be read or written, 2 the command line is "
      "wrong.";
  verb.run = run_export;
  return verb;
}

}  // namespace tilewright::cli
