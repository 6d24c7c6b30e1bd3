// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/tables.hpp"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

namespace tilewright {

std::vector<std::string> table_names(SQLite::Database& database, const std::string& in) {
  SQLite::Statement rows(database, fmt::format("SELECT name FROM {}.sqlite_schema WHERE type = 'table' "
                                               "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1",
                                               in));
  std::vector<std::string> names;
  while (rows.executeStep()) names.push_back(rows.getColumn(0).getString());
  return names;
}

std::string BrokenReference::text() const {
  return fmt::format("row {} of the table {} refers to a row of {} that does not exist", row, table, to);
}

std::optional<BrokenReference> broken_reference(SQLite::Database& database, const std::string& in) {
  SQLite::Statement broken(database, fmt::format("PRAGMA {}.foreign_key_check", in));
  if (!broken.executeStep()) return std::nullopt;
  return BrokenReference{broken.getColumn(1).getInt64(), broken.getColumn(0).getString(),
                         broken.getColumn(2).getString()};
}

ForeignKeysOff::ForeignKeysOff(SQLite::Database& database) : database_(database) {
  database_.exec("PRAGMA foreign_keys = OFF");
}

ForeignKeysOff::~ForeignKeysOff() { database_.tryExec("PRAGMA foreign_keys = ON"); }

}  // namespace tilewright
