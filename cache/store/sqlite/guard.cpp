// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/guard.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/store/sqlite/faults.hpp"
#include "cache/store/sqlite/migrations.hpp"
#include "cache/store/sqlite/row_hash.hpp"
#include "cache/store/sqlite/transaction.hpp"

namespace tilewright {
namespace {

// Steps of SQLite's virtual machine, which takes tens of millions a second. Checking and importing the shipped winners
// (276 MB) takes 1.3 for each byte of the file, all statements together.
constexpr int kStepsBetween = 1'000'000;
constexpr std::uintmax_t kStepsAtLeast = 100'000'000;
constexpr std::uintmax_t kStepsForAByte = 20;

/// A statement without comments, spaces and quotes around names: these differ with SQLite's version, and comments with
/// ours. String literals stay whole, since their content could pass for a comment.
std::string essence(std::string_view sql) {
  std::string kept;
  while (!sql.empty()) {
    const char c = sql.front();
    if (sql.starts_with("--")) {
      sql.remove_prefix(std::min(sql.find('\n'), sql.size()));
      continue;
    }
    if (c == '\'' || c == '"') {
      const std::size_t end = std::min(sql.find(c, 1), sql.size() - 1);
      kept += c == '"' ? sql.substr(1, end - 1) : sql.substr(0, end + 1);
      sql.remove_prefix(end + 1);
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) == 0) kept += c;
    sql.remove_prefix(1);
  }
  return kept;
}

struct Part {
  /// "table trials".
  std::string name;
  std::string sql;
  bool operator==(const Part&) const = default;
};

using Parts = std::vector<Part>;

/// The parts of a file, without SQLite's own tables (statistics).
Parts parts_of(SQLite::Database& database) {
  SQLite::Statement all(database,
                        "SELECT type || ' ' || name, tbl_name, coalesce(sql, '') FROM sqlite_schema "
                        "WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name");
  Parts parts;
  while (all.executeStep()) {
    parts.push_back(
        {all.getColumn(0).getString(), all.getColumn(1).getString() + ' ' + essence(all.getColumn(2).getString())});
  }
  return parts;
}

Parts make_our_parts(std::span<const Migration> steps) {
  SQLite::Database model(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX);
  add_row_functions(model);
  migrate(model, "a model of the cache", steps);
  return parts_of(model);
}

/// Made once per process, for files that differ from their last step: older and foreign ones. Concurrent threads each
/// make one and the first is kept, so that a fork leaves no lock behind.
const Parts& our_parts(std::size_t schema) {
  static std::array<std::atomic<const Parts*>, 64> known{};
  std::atomic<const Parts*>& place = known.at(schema);
  if (const Parts* const made = place.load(std::memory_order_acquire)) return *made;
  auto parts = std::make_unique<const Parts>(make_our_parts(migrations().first(schema)));
  const Parts* first = nullptr;
  if (place.compare_exchange_strong(first, parts.get(), std::memory_order_acq_rel)) return *parts.release();
  return *first;
}

/// The statements of a step that make lasting parts, each as SQLite stores it, in order.
std::vector<std::string_view> declarations(std::string_view sql) {
  constexpr std::string_view kBegin = "\nCREATE ";
  std::vector<std::string_view> all;
  for (std::size_t at = sql.find(kBegin); at != std::string_view::npos; at = sql.find(kBegin, at + 1)) {
    const std::string_view statement = sql.substr(at + 1, sql.find(";\n", at) - at - 1);
    if (!statement.starts_with("CREATE TEMP ")) all.push_back(statement);
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace

bool has_tables_as_written(SQLite::Database& database, const Migration& step) {
  if (stored_schema(database) != step.version) return false;
  SQLite::Statement all(database,
                        "SELECT coalesce(sql, ''), instr(sql, ' ' || name || ' ') * instr(sql, ' ' || tbl_name || ' ') "
                        "FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1");
  for (const std::string_view ours : declarations(step.sql)) {
    if (!all.executeStep() || all.getColumn(0).getString() != ours || all.getColumn(1).getInt() == 0) return false;
  }
  return !all.executeStep();
}

void distrust(SQLite::Database& database) {
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  database.exec("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0");
  add_row_functions(database);
}

void require_our_tables(SQLite::Database& database, const std::filesystem::path& path,
                        std::span<const Migration> steps) {
  // Another process may be migrating it.
  const Transaction snapshot(database, Transaction::Kind::deferred);
  if (has_tables_as_written(database, steps.back())) return;
  const auto taken = static_cast<std::size_t>(std::max(0, stored_schema(database)));
  const auto known = steps.first(std::min(taken, steps.size()));
  const Parts theirs = parts_of(database);
  const bool is_our_program = steps.data() == migrations().data();
  const Parts made = is_our_program ? Parts() : make_our_parts(known);
  const Parts& ours = is_our_program ? our_parts(known.size()) : made;
  const auto [at, expected] = std::ranges::mismatch(theirs, ours);
  if (at == theirs.end() && expected == ours.end()) return;
  const bool is_first = expected == ours.end() || (at != theirs.end() && at->name < expected->name);
  throw fault("open the cache", path,
              fmt::format("does not have the tables of schema {}: the first that differs is the {}", taken,
                          is_first ? at->name : expected->name),
              name_another_file(path), 0, CacheFault::foreign);
}

void WorkLimit::watch(SQLite::Database& database) {
  sqlite3_progress_handler(database.getHandle(), kStepsBetween, &WorkLimit::step, this);
}

int WorkLimit::step(void* limit) noexcept {
  auto& self = *static_cast<WorkLimit*>(limit);
  self.steps_ += kStepsBetween;
  if (self.steps_ < kStepsAtLeast) return 0;
  return self.steps_ > kStepsAtLeast + kStepsForAByte * self.bytes_() ? 1 : 0;
}

}  // namespace tilewright
