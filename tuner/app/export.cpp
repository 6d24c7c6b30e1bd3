// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "cache/base/units.hpp"
#include "cache/store/bundle/bundle.hpp"
#include "cache/store/export.hpp"
#include "cache/store/pack/pack.hpp"
#include "tuner/app/import_table.hpp"
#include "tuner/app/stored_devices.hpp"
#include "tuner/export/cover_choice.hpp"
#include "tuner/export/google_benchmark.hpp"
#include "tuner/export/header.hpp"
#include "tuner/export/t4.hpp"
#include "tuner/export/trial_lines.hpp"
#include "tuner/report/winner_lines.hpp"

namespace tilewright::app {
namespace {

namespace fs = std::filesystem;

Error nothing_to_export(const Store& store, const char* what) {
  return Error(fmt::format(
      "the cache {} has no such {} to export, and nothing was written; make some with `tilewright sweep OP`",
      store.path().string(), what));
}

WinnerSelection filter_of(const ExportRequest& request, const Store& store) {
  WinnerSelection filter;
  std::map<std::string, std::vector<WantedProblems>> wanted;
  for (const ProblemWords& words : request.problems) {
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
  if (!request.device.empty()) {
    for (const DeviceFacts& device : choose_devices(store, request.device)) {
      filter.devices.push_back(device.fingerprint());
    }
  }
  return filter;
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
      "A config with specialised dims counts once for each value of them. The chosen configs include the bases.");
  if (!all_proven) {
    table.notes.emplace_back("If fewer may suffice, the smallest set found in time is taken.");
  }
  return table;
}

/// Counts the problems of each op and device.
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

FindDefinition finder(Catalogue& catalogue) {
  return [&catalogue, names = catalogue.names()](const std::string& op) -> const OpDefinition* {
    return std::binary_search(names.begin(), names.end(), op) ? &catalogue.find(op) : nullptr;
  };
}

std::string size_of_all(const std::vector<PackFile>& packs) {
  double sum = 0;
  for (const PackFile& pack : packs) sum += static_cast<double>(pack.bytes);
  return show_bytes(sum);
}

/// A few of the texts, and how many more there are.
std::string some_of(const std::vector<std::string>& texts) {
  constexpr std::size_t kNamed = 5;
  const std::size_t named = std::min(kNamed, texts.size());
  const std::string text = fmt::format("{}", fmt::join(texts.begin(), texts.begin() + static_cast<long>(named), ", "));
  return named == texts.size() ? text : fmt::format("{} and {} more", text, texts.size() - named);
}

/// The keys of what older packs keep, and these packs.
struct KeptByOlder {
  std::vector<std::string> keys;
  std::set<std::string> packs;

  explicit KeptByOlder(const std::map<std::string, std::string>& kept) {
    for (const auto& [key, pack] : kept) {
      keys.push_back(key);
      packs.insert(pack);
    }
  }
};

std::vector<std::string> notes_of(const WrittenPacks& written, const fs::path& folder) {
  std::vector<std::string> notes;
  notes.push_back(written.packs.empty()
                      ? fmt::format("Nothing was written: everything is in the packs of {}.", folder.string())
                      : fmt::format("{} written into {}, {} together.", counted(written.packs.size(), "pack"),
                                    folder.string(), size_of_all(written.packs)));
  if (!written.superseded.empty()) {
    std::vector<std::string> names;
    for (const fs::path& pack : written.superseded) names.push_back(pack.filename().string());
    notes.push_back(fmt::format("The new packs have all rows of {}, which can be removed: {}.",
                                counted(names.size(), "older pack"), fmt::join(names, ", ")));
  }
  if (const KeptByOlder kept(written.kept); !kept.keys.empty()) {
    notes.push_back(fmt::format(
        "Older packs have as good or better evidence for other winners of {}, which an import keeps: {}. These packs "
        "are {}. For this cache's winners, remove these packs and export again, if this cache has all else in them.",
        counted(kept.keys.size(), "problem"), some_of(kept.keys), fmt::join(kept.packs, ", ")));
  }
  if (const KeptByOlder kept(written.kept_models); !kept.keys.empty()) {
    notes.push_back(fmt::format(
        "Older packs have models of more shapes for {}, which an import keeps: {}. These packs are {}. For the models "
        "of this cache, remove these packs and export again.",
        counted(kept.keys.size(), "spec"), some_of(kept.keys), fmt::join(kept.packs, ", ")));
  }
  return notes;
}

Exported write_trials(const TrialRecords& records, TextForm form, const Write& write) {
  Exported done;
  for (const TrialRecords::Counted& counted : records.count()) {
    done.lines.push_back({counted.op, counted.device, counted.problems});
  }
  std::size_t written = records.size();
  if (form == TextForm::csv) {
    write_csv(records, write);
  } else if (form == TextForm::json_lines) {
    write_json_lines(records, write);
  } else {
    const T4Counts counts = write_t4(records, write);
    written = counts.results;
    if (counts.pruned > 0) {
      done.notes.push_back(fmt::format("Left out: {}, since T4 has results of tried configs only.",
                                       counted(counts.pruned, "pruned config")));
    }
  }
  done.notes.insert(done.notes.begin(), fmt::format("{} written.", counted(written, "trial")));
  return done;
}

/// The winners of all roles. Throws UsageError if they are of several devices.
std::vector<BenchmarkLine> winners_of(const Store& store, const WinnerSelection& filter, const ExportRequest& request,
                                      const History& history, const FindDefinition& find) {
  const std::vector<DType>& dtypes = request.dtypes;
  std::map<std::int64_t, std::int64_t> builds;
  for (const History::TrialOf& trial : history.trials) builds[trial.id] = trial.build;
  std::set<std::string> devices;
  std::vector<BenchmarkLine> lines;
  Ceilings ceilings(store);
  for (WinnerRow& row : selected_winners(store, filter)) {
    if (!dtypes.empty() && std::find(dtypes.begin(), dtypes.end(), row.problem.spec.dtype) == dtypes.end()) continue;
    if (request.mode && row.mode != *request.mode) continue;
    // Only Store::trial() reads the rounds.
    if (auto trial = store.trial(row.winner.trial.id)) row.winner.trial = std::move(*trial);
    if (!row.winner.trial.timing) continue;
    devices.insert(row.device.fingerprint());
    BenchmarkLine line;
    const auto build = history.builds.find(builds[row.winner.trial.id]);
    if (build != history.builds.end()) line.build = &build->second;
    const OpDefinition* definition = find(row.problem.spec.op);
    line.line =
        winner_line(ceilings, definition, std::move(row), {Fit::exact, Freshness::fresh, DeviceFit::same_device});
    lines.push_back(std::move(line));
  }
  if (devices.size() > 1) {
    throw UsageError(fmt::format(
        "Google Benchmark results are of one device, and the cache {} has winners of {}: {}; name one with --device",
        store.path().string(), devices.size(), fmt::join(devices, ", ")));
  }
  return lines;
}

Exported write_winners(const Store& store, const std::vector<BenchmarkLine>& lines, const Write& write) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> problems;
  for (const BenchmarkLine& line : lines) {
    const WinnerRow& row = line.line.row;
    problems[{row.problem.spec.op, row.device.fingerprint()}].insert(row.problem.key());
  }
  Exported done;
  for (const auto& [key, keys] : problems) done.lines.push_back({key.first, key.second, keys.size()});
  done.notes.push_back(fmt::format("{} written.", counted(lines.size(), "winner")));
  write(google_benchmark_text(store, lines));
  return done;
}

std::vector<std::string> write_as_bundle(const Store& store, const std::vector<WinnerRow>& rows, const fs::path& file) {
  std::vector<std::string> notes;
  const BundleCounts counts = write_bundle(store, rows, file);
  std::size_t problems = 0;
  for (const OpCounts& line : count(rows)) problems += line.added;
  notes.push_back(fmt::format("{} has {}: {} served, {} kept, {}.", file.string(), size_text(file),
                              counted(problems, "problem"), counted(counts.winners, "config"),
                              counted(counts.binaries, "binary")));
  if (counts.without_binary > 0) {
    notes.push_back(
        fmt::format("{} of the configs kept have no stored binary and cannot be launched.", counts.without_binary));
  }
  return notes;
}

std::vector<std::string> write_as_header(const Store& store, const std::vector<WinnerRow>& rows, const fs::path& file,
                                         const Write& write) {
  std::vector<std::string> notes;
  HeaderCounts counts;
  const std::string text = header_text(store, rows, counts);
  if (counts.shapes == 0) {
    throw Error(fmt::format("no winner can be written as a header, and nothing was written: {}",
                            counts.left_out.empty() ? "there is none" : counts.left_out.front()));
  }
  write(text);
  notes.push_back(fmt::format("{} has {} with {} and {}.", file.string(), show_bytes(static_cast<double>(text.size())),
                              counted(counts.shapes, "shape"), counted(counts.binaries, "binary")));
  if (counts.spares > 0) {
    notes.push_back(fmt::format("Left out: {}, since a header serves tuned shapes only; --bundle takes them.",
                                counted(counts.spares, "spare")));
  }
  constexpr std::size_t kTold = 5;
  for (std::size_t i = 0; i < std::min(kTold, counts.left_out.size()); ++i) {
    notes.push_back(fmt::format("Left out: {}.", counts.left_out[i]));
  }
  if (counts.left_out.size() > kTold) notes.push_back(fmt::format("{} were left out.", counts.left_out.size()));
  return notes;
}

std::vector<std::string> write_rows(const Store& store, const std::vector<WinnerRow>& rows, RowsForm form,
                                    const fs::path& file, const Write& write) {
  return form == RowsForm::bundle ? write_as_bundle(store, rows, file) : write_as_header(store, rows, file, write);
}

/// The cache as it is at one moment.
Store copy_of(const Place& place) { return Store(cache_path(place), {.access = StoreAccess::copy}); }

}  // namespace

Table table_of(const Exported& exported, const Place& place) {
  Table table = import_table(fmt::format("Exported from {}", cache_path(place).string()), exported.lines,
                             ImportColumns::exported);
  table.notes.insert(table.notes.end(), exported.notes.begin(), exported.notes.end());
  return table;
}

Exported export_packs(const ExportRequest& request, const fs::path& folder,
                      const std::function<void(const std::string&)>& tell) {
  const Store store = open_to_read(request.place);
  for (const ProblemWords& words : request.problems) {
    if (!words.named.empty()) {
      throw UsageError(fmt::format("a pack covers a whole op: leave out the words after {}", words.op));
    }
  }
  if (!request.device.empty()) throw UsageError("a pack covers all devices: leave out --device");
  const WinnerSelection filter = filter_of(request, store);
  const auto told = [&](const PackFile& pack) {
    if (tell) {
      tell(fmt::format("{}: {}, {}, {}", pack.path.filename().string(), show_bytes(static_cast<double>(pack.bytes)),
                       counted(pack.trials, "trial"), counted(pack.winners, "winner")));
    }
  };
  const WrittenPacks written = write_packs(store, folder, filter, told);
  if (written.packs.empty() && !written.knew_some) throw nothing_to_export(store, "trials");
  return {count(selected_winners(store, filter)), notes_of(written, folder)};
}

Exported export_cache(const ExportRequest& request, const fs::path& file, bool recording) {
  // The binaries of winners may exceed the memory, so they are not copied.
  const Store store = recording ? copy_of(request.place) : open_to_read(request.place);
  const WinnerSelection filter = filter_of(request, store);
  Exported done;
  done.lines = recording ? export_trials(store, file, filter) : export_winners(store, file, filter);
  if (done.lines.empty()) throw nothing_to_export(store, recording ? "trial" : "winner");
  const Store made(file, {.access = StoreAccess::read});
  const Store::Counts counts = made.counts();
  done.notes.push_back(fmt::format("{} has {} with {}, {} and {}.", file.string(), size_text(file),
                                   counted(counts.trials, "trial"), counted(counts.binaries, "binary"),
                                   counted(counts.models, "learned model")));
  const std::int64_t others = store.counts().trials - counts.trials;
  // A filtered export does not mention the other trials of the cache.
  const bool is_whole = filter.ops.empty() && filter.devices.empty() && !filter.wanted;
  if (!recording && is_whole && others > 0) {
    done.notes.push_back(
        fmt::format("{} stay behind, pruned, older, or of problems without a winner: --csv and --jsonl write them.",
                    counted(others, "other trial")));
  }
  return done;
}

Exported export_rows(const ExportRequest& request, RowsForm form, const fs::path& file, const Write& write) {
  const Store store = copy_of(request.place);
  const std::vector<WinnerRow> rows = selected_winners(store, filter_of(request, store));
  if (rows.empty()) throw nothing_to_export(store, "winner");
  std::vector<std::string> notes = write_rows(store, rows, form, file, write);
  return {count(rows), std::move(notes)};
}

Exported export_text(const ExportRequest& request, TextForm form, const Write& write) {
  const Store store = copy_of(request.place);
  const WinnerSelection filter = filter_of(request, store);
  Catalogue catalogue = open_catalogue(request.place);
  const FindDefinition find = finder(catalogue);
  if (form == TextForm::google_benchmark) {
    const History history = store.history();
    const std::vector<BenchmarkLine> lines = winners_of(store, filter, request, history, find);
    if (lines.empty()) throw nothing_to_export(store, "winner");
    return write_winners(store, lines, write);
  }
  const TrialRecords records(store, {filter.ops, filter.devices, request.dtypes, request.mode, filter.wanted}, find);
  if (records.size() == 0) throw nothing_to_export(store, "trial");
  return write_trials(records, form, write);
}

Table cover(const ExportRequest& request, double ratio, std::optional<RowsForm> form, const fs::path& file,
            const Write& write) {
  const Store store = copy_of(request.place);
  const std::vector<CoverChoice> choices = choose_cover(store, ratio, filter_of(request, store), form.has_value());
  if (choices.empty()) throw nothing_to_export(store, "trial");
  Table table = cover_table(ratio, choices);
  if (!form) {
    table.notes.emplace_back("Nothing was written: name a file with --bundle or --header.");
    return table;
  }
  std::vector<WinnerRow> rows;
  for (const CoverChoice& choice : choices) rows.insert(rows.end(), choice.rows.begin(), choice.rows.end());
  for (std::string& note : write_rows(store, rows, *form, file, write)) table.notes.push_back(std::move(note));
  return table;
}

}  // namespace tilewright::app
