// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/export_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/analysis/units.hpp"
#include "tuner/cli/import_table.hpp"
#include "tuner/cli/output_file.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/export/google_benchmark.hpp"
#include "tuner/export/t4.hpp"
#include "tuner/export/trial_lines.hpp"
#include "tuner/report/winner_lines.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* kGoogleBenchmark = "google-benchmark";

std::vector<DType> dtypes_of(const Arguments& arguments) {
  std::vector<DType> dtypes;
  if (!arguments.has("dtype")) return dtypes;
  for (const std::string& typed : split_list(arguments.text("dtype"))) dtypes.push_back(dtype_from(typed).value());
  return dtypes;
}

FindDefinition finder(Catalogue& catalogue) {
  return [&catalogue, names = catalogue.names()](const std::string& op) -> const OpDefinition* {
    return std::binary_search(names.begin(), names.end(), op) ? &catalogue.find(op) : nullptr;
  };
}

/// What was done, in numbers and words.
struct Done {
  std::vector<OpCounts> lines;
  std::vector<std::string> notes;
};

Done write_trials(const TrialRecords& records, const std::string& option, const Write& write) {
  Done done;
  for (const TrialRecords::Counted& counted : records.count()) {
    done.lines.push_back({counted.op, counted.device, counted.problems});
  }
  std::size_t written = records.size();
  if (option == "csv") {
    write_csv(records, write);
  } else if (option == "jsonl") {
    write_json_lines(records, write);
  } else {
    const T4Counts counts = write_t4(records, write);
    written = counts.results;
    if (counts.pruned > 0) {
      done.notes.push_back(fmt::format(
          "{} configs that were pruned are left out: T4 has results of configs that were tried.", counts.pruned));
    }
  }
  done.notes.insert(done.notes.begin(), fmt::format("{} trials were written.", written));
  return done;
}

/// Winners of one device, of all roles.
std::vector<BenchmarkLine> winners_of(const Store& store, const WinnerSelection& filter, const Arguments& arguments,
                                      const History& history, const FindDefinition& find) {
  const std::vector<DType> dtypes = dtypes_of(arguments);
  const std::optional<MeasureMode> mode = mode_of(arguments);
  std::map<std::int64_t, std::int64_t> builds;
  for (const History::TrialOf& trial : history.trials) builds[trial.id] = trial.build;
  std::set<std::string> devices;
  std::vector<BenchmarkLine> lines;
  for (WinnerRow& row : selected_winners(store, filter)) {
    if (!dtypes.empty() && std::find(dtypes.begin(), dtypes.end(), row.problem.spec.dtype) == dtypes.end()) continue;
    if (mode && row.mode != *mode) continue;
    // Only the trial alone has its rounds.
    if (auto trial = store.trial(row.winner.trial.id)) row.winner.trial = std::move(*trial);
    if (!row.winner.trial.timing) continue;
    devices.insert(row.device.fingerprint());
    BenchmarkLine line;
    const auto build = history.builds.find(builds[row.winner.trial.id]);
    if (build != history.builds.end()) line.build = &build->second;
    const OpDefinition* definition = find(row.problem.spec.op);
    line.line = winner_line(store, definition, std::move(row), {Fit::exact, Freshness::fresh, DeviceFit::same_device});
    lines.push_back(std::move(line));
  }
  if (devices.size() > 1) {
    throw UsageError(
        fmt::format("a benchmark's results are of one device, and the cache {} has winners of {}: {}; name "
                    "one with --device",
                    store.path().string(), devices.size(), fmt::join(devices, ", ")));
  }
  return lines;
}

Done write_winners(const Store& store, const std::vector<BenchmarkLine>& lines, const Write& write) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> problems;
  for (const BenchmarkLine& line : lines) {
    const WinnerRow& row = line.line.row;
    problems[{row.problem.spec.op, row.device.fingerprint()}].insert(row.problem.key());
  }
  Done done;
  for (const auto& [key, keys] : problems) done.lines.push_back({key.first, key.second, keys.size()});
  done.notes.push_back(fmt::format("{} winners were written.", lines.size()));
  write(google_benchmark_text(store, lines));
  return done;
}

}  // namespace

Error nothing_to_export(const Store& store, const char* what) {
  return Error(fmt::format(
      "the cache {} has no such {} to export, and nothing was written; make some with `tilewright sweep OP`",
      store.path().string(), what));
}

const std::vector<std::string>& text_exports() {
  static const std::vector<std::string> kOptions{"csv", "jsonl", "t4", kGoogleBenchmark};
  return kOptions;
}

ExitCode export_text(const Arguments& arguments, Console& console, const Store& store, const WinnerSelection& filter,
                     const std::string& option, const std::filesystem::path& file) {
  const Format format = format_of(arguments);
  Catalogue catalogue = open_catalogue(arguments);
  const FindDefinition find = finder(catalogue);
  Done done;
  std::size_t bytes = 0;
  const auto write_with = [&](const auto& writer) {
    OutputFile output(file, console);
    done = writer([&](std::string_view text) { output.write(text); });
    output.commit();
    bytes = output.bytes();
  };
  if (option == kGoogleBenchmark) {
    const History history = store.history();
    const std::vector<BenchmarkLine> lines = winners_of(store, filter, arguments, history, find);
    if (lines.empty()) throw nothing_to_export(store, "winner");
    write_with([&](const Write& write) { return write_winners(store, lines, write); });
  } else {
    const TrialRecords records(
        store, {filter.ops, filter.devices, dtypes_of(arguments), mode_of(arguments), filter.wanted}, find);
    if (records.size() == 0) throw nothing_to_export(store, "trial");
    write_with([&](const Write& write) { return write_trials(records, option, write); });
  }
  if (OutputFile::is_standard_output(file)) {
    for (const std::string& note : done.notes) console.say(note);
    return ExitCode::done;
  }
  Table table =
      import_table(fmt::format("Exported from {}", store.path().string()), done.lines, ImportColumns::exported);
  done.notes.front() =
      fmt::format("{} has {}. {}", file.string(), show_bytes(static_cast<double>(bytes)), done.notes.front());
  table.notes.insert(table.notes.end(), done.notes.begin(), done.notes.end());
  console.print(table, format);
  return ExitCode::done;
}

}  // namespace tilewright::cli
