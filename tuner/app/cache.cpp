// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/cache.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "cache/store/whole_file.hpp"
#include "tuner/app/commands.hpp"
#include "tuner/app/open_place.hpp"
#include "tuner/report/sources.hpp"

namespace tilewright::app {
namespace {

/// Compaction pays if this many bytes of the file, and 1/kFreeShare of it, are free.
constexpr std::int64_t kFreeAtLeast = 1 << 20;
constexpr std::int64_t kFreeShare = 10;

Cell moment_cell(std::int64_t seconds) {
  Cell cell;
  if (seconds != 0) cell = seconds;
  return cell;
}

Table table_by_kind(const CacheInfo& info) {
  const CacheSpace& space = info.space;
  Table table;
  table.title = fmt::format("{}: {}", info.file.string(), show_bytes(static_cast<double>(space.file_bytes)));
  table.columns = {{"table", "table"},
                   {"rows", "rows"},
                   {"damaged_rows", "damaged"},
                   {"bytes", "takes", Unit::bytes},
                   {"index_bytes", "indexes", Unit::bytes},
                   {"share", "share", Unit::share}};
  const auto share = [&](std::int64_t bytes) {
    return Cell(static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(1, space.file_bytes)));
  };
  for (const TableSpace& each : space.tables) {
    if (each.rows == 0) continue;
    table.rows.push_back(
        {each.table, each.rows, each.damaged, each.bytes, each.index_bytes, share(each.bytes + each.index_bytes)});
  }
  table.rows.push_back({"(free pages)", Cell(), Cell(), space.free_bytes, Cell(), share(space.free_bytes)});
  table.summary = {{"cache", info.file.string()},
                   {"schema", std::int64_t{space.schema}},
                   {"file_bytes", space.file_bytes},
                   {"log_bytes", space.log_bytes},
                   {"free_bytes", space.free_bytes},
                   {"serving_binary_bytes", space.serving_bytes},
                   {"other_binary_bytes", space.other_bytes},
                   {"model_bytes", space.model_bytes},
                   {"packs", info.packs},
                   {"first_trial", moment_cell(space.first_trial)},
                   {"last_trial", moment_cell(space.last_trial)}};
  table.notes.push_back(fmt::format(
      "Schema {}{}.{}", space.schema,
      space.last_trial == 0
          ? "; no trials"
          : fmt::format("; trials from {} to {}", show_moment(space.first_trial), show_moment(space.last_trial)),
      space.log_bytes == 0
          ? ""
          : fmt::format(" The log beside the file has {}.", show_bytes(static_cast<double>(space.log_bytes)))));
  table.notes.push_back(fmt::format(
      "Serving binaries take {}, others {}, learned models {}.", show_bytes(static_cast<double>(space.serving_bytes)),
      show_bytes(static_cast<double>(space.other_bytes)), show_bytes(static_cast<double>(space.model_bytes))));
  return table;
}

Table table_by_op(const CacheInfo& info) {
  Table table;
  table.title = "By op";
  const std::vector<Source<OpSpace>> sources{
      {column("op", "op"), [](const OpSpace& op) { return Cell(op.op); }},
      {column("problems", "problems"), [](const OpSpace& op) { return Cell(op.problems); }},
      {column("trials", "trials"), [](const OpSpace& op) { return Cell(op.trials); }},
      {column("winners", "winners"), [](const OpSpace& op) { return Cell(op.winners); }},
      {column("binary_bytes", "binaries", Unit::bytes), [](const OpSpace& op) { return Cell(op.binary_bytes); }},
      {column("serving_binary_bytes", "serving", Unit::bytes),
       [](const OpSpace& op) { return Cell(op.serving_bytes); }}};
  fill(table, sources, info.space.ops);
  return table;
}

/// The current implementations of the cache's ops whose definitions are on this machine.
std::vector<std::string> implementations_here(const Store& store, const Place& place) {
  OpenPlace open(place);
  std::vector<std::string> hashes;
  for (const std::string& op : store.ops()) {
    // Of an op without hashes the last tried implementation stays all the same.
    const std::vector<std::string>& found = open.implementations(op);
    hashes.insert(hashes.end(), found.begin(), found.end());
  }
  return hashes;
}

}  // namespace

CacheInfo cache_info(const Place& place) {
  const Store store = open_to_read(place);
  CacheInfo info{cache_path(place), WholeFile::space(store)};
  for (const TableSpace& table : info.space.tables) {
    if (table.table == "packs") info.packs = table.rows;
  }
  return info;
}

std::vector<Table> tables_of(const CacheInfo& info, const Place& place) {
  std::vector<Table> tables{table_by_kind(info), table_by_op(info)};
  const bool is_damaged = std::ranges::any_of(info.space.tables, [](const TableSpace& t) { return t.damaged > 0; });
  if (is_damaged) {
    tables.front().advice.push_back({"Damaged rows serve nothing. Remove them, then sweep their problems:",
                                     {"tilewright cache gc --damaged" + cache_option(place)}});
  }
  if (info.space.other_bytes + info.space.free_bytes > info.space.file_bytes / kFreeShare) {
    tables.front().advice.push_back(
        {"See what can be removed:", {"tilewright cache gc --dry-run" + cache_option(place)}});
  }
  return tables;
}

CollectResult collect(const CollectRequest& request) {
  const std::filesystem::path path = cache_path(request.place);
  if (!std::filesystem::exists(path)) (void)open_to_read(request.place);  // Throws, with how to make one.
  Store store(path, {.access = StoreAccess::write});
  CollectResult result;
  result.dry_run = request.dry_run;
  result.bytes_before = WholeFile::space(store).file_bytes;
  result.garbage = WholeFile::collect_garbage(store, {.implementations = implementations_here(store, request.place),
                                                      .past_winners = request.past_winners,
                                                      .damaged = request.damaged,
                                                      .dry_run = request.dry_run});
  CacheSpace after = WholeFile::space(store);
  if (!request.dry_run && after.free_bytes >= std::max(kFreeAtLeast, after.file_bytes / kFreeShare)) {
    try {
      WholeFile::compact(store);
    } catch (const CacheError& error) {
      result.not_smaller = error.what();
    }
    after = WholeFile::space(store);
  }
  result.bytes_after = after.file_bytes;
  return result;
}

Table table_of(const CollectResult& result) {
  Table table;
  table.title = result.dry_run ? "Would be removed" : "Removed";
  const std::vector<Source<Garbage>> sources{
      {column("what", "what"), [](const Garbage& each) { return Cell(each.what); }},
      {column("rows", "rows"), [](const Garbage& each) { return Cell(each.rows); }},
      {column("bytes", "bytes", Unit::bytes), [](const Garbage& each) { return Cell(each.bytes); }},
      {column("why", "why"), [](const Garbage& each) { return Cell(each.why); }}};
  fill(table, sources, result.garbage);
  table.summary = {{"file_bytes_before", result.bytes_before}, {"file_bytes_after", result.bytes_after}};
  const auto size = [](std::int64_t bytes) { return show_bytes(static_cast<double>(bytes)); };
  if (result.garbage.empty()) table.notes.emplace_back("Nothing: the cache needs all of it.");
  if (result.bytes_after < result.bytes_before) {
    table.notes.push_back(
        fmt::format("The file had {} and has {}.", size(result.bytes_before), size(result.bytes_after)));
  } else if (!result.garbage.empty() && !result.dry_run && result.not_smaller.empty()) {
    table.notes.emplace_back("The file is as large as before; the next sweeps fill the free space.");
  }
  if (!result.not_smaller.empty()) {
    table.notes.push_back("The file did not become smaller; the next sweeps fill the free space: " +
                          result.not_smaller);
  }
  return table;
}

}  // namespace tilewright::app
