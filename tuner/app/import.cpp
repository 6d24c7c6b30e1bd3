// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/import.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/file_facts.hpp"
#include "cache/base/units.hpp"
#include "cache/store/bundle/bundle.hpp"
#include "cache/store/pack/folding.hpp"
#include "cache/store/pack/pack_name.hpp"
#include "tuner/app/import_table.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/search/recording_file.hpp"

namespace tilewright::app {
namespace {

std::string evidence_of(const Trial& trial) {
  if (!trial.timing) return "no time";
  const Timing& timing = *trial.timing;
  const double half = timing.median_ns > 0 ? 50 * (timing.high_ns - timing.low_ns) / timing.median_ns : 0;
  return fmt::format("{} ± {:.2f} %, {}", show_time(timing.median_ns), half, counted(timing.rounds_ns.size(), "round"));
}

/// Adds up the counts of several files, one line for each op and device.
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

void warn_of_writers(const std::filesystem::path& file, std::vector<std::string>& warnings) {
  if (!writable_by_others(file)) return;
  warnings.push_back(fmt::format("tilewright: note that others can write {}: its binaries are code that will run here",
                                 file.string()));
}

/// Opens a copy of one moment, also of an older schema, and checks all of it.
Store open_source(const std::filesystem::path& file, std::vector<std::string>& warnings) {
  if (!std::filesystem::exists(file)) {
    throw UsageError(fmt::format("there is no file {}; `tilewright export -o FILE` makes one", file.string()));
  }
  if (Bundle::is_one(file)) {
    throw UsageError(
        fmt::format("{} is a bundle, without the evidence that an import needs; import the cache that it was made "
                    "from, or an export of that cache (`tilewright export -o FILE`)",
                    file.string()));
  }
  Store from = open_recording(file);
  from.check();
  warn_of_writers(file, warnings);
  return from;
}

/// More files than this are counted, not named.
constexpr std::size_t kNamed = 4;

std::vector<std::filesystem::path> files_of(const ImportRequest& request) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& named : request.files)
    std::ranges::copy(packs_of(named), std::back_inserter(files));
  return files;
}

/// Whether it has trials and no winners.
bool is_recording(const Store& source) {
  const Store::Counts counts = source.counts();
  return counts.trials > 0 && counts.winners == 0;
}

}  // namespace

std::vector<std::filesystem::path> packs_of(const std::filesystem::path& named) {
  if (!std::filesystem::is_directory(named)) return {named};
  std::vector<std::filesystem::path> packs;
  for (const auto& entry : std::filesystem::directory_iterator(named)) {
    if (is_pack(entry.path())) packs.push_back(entry.path());
  }
  if (packs.empty()) {
    throw UsageError(fmt::format("{} is a folder without packs; `tilewright export --pack {}` makes some",
                                 named.string(), named.string()));
  }
  std::ranges::sort(packs);
  return packs;
}

Table table_of(const std::vector<Conflict>& conflicts) {
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
    table.rows.push_back({conflict.problem, conflict.here.config.text(), evidence_of(conflict.here),
                          conflict.there.config.text(), evidence_of(conflict.there),
                          std::string(conflict.replaced ? "there" : "here"), std::string(name(conflict.mode)),
                          conflict.device});
  }
  table.notes.emplace_back(
      "The winner with the better evidence is taken. The other stays as a trial, or is not imported.");
  return table;
}

std::string text_of(const Conflict& conflict) {
  const Trial& taken = conflict.replaced ? conflict.there : conflict.here;
  const Trial& left = conflict.replaced ? conflict.here : conflict.there;
  return fmt::format("Conflict: {}: {} ({}) goes before {} ({})", conflict.problem, taken.config.text(),
                     evidence_of(taken), left.config.text(), evidence_of(left));
}

ImportResult import_files(const ImportRequest& request, const std::function<void(const std::string&)>& tell) {
  ImportResult result;
  std::vector<Store> sources;
  std::vector<std::string> names;
  std::vector<std::filesystem::path> packs;
  for (const std::filesystem::path& file : files_of(request)) {
    names.push_back(file.string());
    if (is_pack(file)) {
      warn_of_writers(file, result.warnings);
      packs.push_back(file);
    } else {
      sources.push_back(open_source(file, result.warnings));
    }
  }
  Store to(cache_path(request.place));
  const Store::Counts before = to.counts();
  std::vector<OpCounts> done;
  for (const Store& from : sources) add_up(done, import_winners(from, to, {}, &result.conflicts));
  Folding folding(to);
  for (std::size_t i = 0; i < packs.size(); ++i) {
    if (tell) tell(fmt::format("folding {} of {}: {}", i + 1, packs.size(), packs[i].filename().string()));
    add_up(done, folding.fold(packs[i]));
  }
  const Store::Counts after = to.counts();
  const std::string from =
      names.size() > kNamed ? fmt::format("{} files", names.size()) : fmt::format("{}", fmt::join(names, ", "));
  Table& table = result.table;
  table = import_table(fmt::format("Imported from {}", from), done, ImportColumns::imported);
  if (done.empty() && packs.empty())
    table.notes.push_back(fmt::format("{} has no winners: nothing was imported.", from));
  if (done.empty() && std::any_of(sources.begin(), sources.end(), is_recording)) {
    table.notes.emplace_back(
        "It has trials only, like a recording: `tilewright sweep OP --replay FILE` and `tilewright table "
        "OP --compare FILE FILE` read it.");
  }
  table.notes.push_back(fmt::format(
      "{} gained {}, {} and {}.", to.path().string(), counted(after.trials - before.trials, "trial"),
      counted(after.binaries - before.binaries, "binary"), counted(sum_of(done, &OpCounts::models), "learned model")));
  if (const std::size_t newer = sum_of(done, &OpCounts::newer_models); newer > 0) {
    table.notes.push_back(
        fmt::format("Not imported: {}, since a newer Tilewright's stays.", counted(newer, "learned model")));
  }
  return result;
}

}  // namespace tilewright::app
