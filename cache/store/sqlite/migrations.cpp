// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/migrations.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include "cache/base/version.hpp"
#include "cache/store/sqlite/faults.hpp"
#include "cache/store/sqlite/tables.hpp"
#include "cache/store/sqlite/transaction.hpp"

namespace tilewright {
namespace {

int pragma(SQLite::Database& database, const char* sql) { return database.execAndGet(sql).getInt(); }

/// A PRAGMA takes numbers only as text; these are ours.
void set_pragma(SQLite::Database& database, const char* name, int value) {
  database.exec(fmt::format("PRAGMA {} = {}", name, value));
}

void take_step(SQLite::Database& database, const std::filesystem::path& path, const Migration& step) {
  Transaction transaction(database, Transaction::Kind::immediate);
  // Another process may have taken it while this one waited for the lock.
  if (stored_schema(database) >= step.version) return;
  try {
    database.exec(step.sql);
  } catch (const SQLite::Exception& refusal) {
    if (refusal.getErrorCode() != SQLITE_ERROR) throw;  // a lock, a full disk: the caller reports it
    throw fault("bring the cache to a newer schema", path,
                fmt::format("refused step {} ({})", step.name, refusal.what()),
                "It stays at the schema before. Keep a copy of it and report this");
  }
  if (const auto broken = broken_reference(database)) {
    throw damage("bring the cache to a newer schema", path,
                 fmt::format("after step {} the table {} refers to rows that do not exist", step.name, broken->table));
  }
  set_pragma(database, "application_id", kApplicationId);
  set_pragma(database, "user_version", step.version);
  transaction.commit();
}

}  // namespace

int stored_schema(SQLite::Database& database) { return pragma(database, "PRAGMA user_version"); }

FileKind recognise(SQLite::Database& database, const std::filesystem::path& path, std::span<const Migration> steps) {
  // One statement, so one snapshot: another process may be making this file.
  SQLite::Statement header(database,
                           "SELECT (SELECT application_id FROM pragma_application_id), "
                           "(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)");
  header.executeStep();
  const auto application = header.getColumn(0).getInt();
  const int schema = header.getColumn(1).getInt();
  const int tables = header.getColumn(2).getInt();
  if (application == 0 && schema == 0 && tables == 0) return FileKind::empty;
  if (application != kApplicationId) {
    throw fault(kOpeningCache, path,
                application == 0
                    ? std::string("is an SQLite database of another program")
                    : fmt::format("is an SQLite database of another program (application_id 0x{:08x}, Tilewright's is "
                                  "0x{:08x})",
                                  static_cast<unsigned>(application), static_cast<unsigned>(kApplicationId)),
                name_another_file(path), 0, CacheFault::foreign);
  }
  if (schema > steps.back().version) {
    throw fault(kOpeningCache, path,
                fmt::format("has schema {}, and this program ({}) knows schemas up to {}", schema, version(),
                            steps.back().version),
                "It was left as it is. Use the Tilewright that wrote it or a newer one, or name another file with "
                "TILEWRIGHT_CACHE=FILE",
                0, CacheFault::newer);
  }
  return FileKind::ours;
}

void migrate(SQLite::Database& database, const std::filesystem::path& path, std::span<const Migration> steps) {
  if (stored_schema(database) >= steps.back().version) return;
  // A step may rebuild a table that others refer to. The switch has no effect inside a transaction.
  database.exec("PRAGMA foreign_keys = OFF");
  for (const Migration& step : steps) {
    if (stored_schema(database) < step.version) take_step(database, path, step);
  }
}

}  // namespace tilewright
