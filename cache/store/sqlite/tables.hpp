// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The tables of an open file, and the references between their rows. The functions throw SQLite::Exception.
namespace tilewright {

/// The names of the tables of the database that is attached as `in`, without SQLite's own, sorted.
[[nodiscard]] std::vector<std::string> table_names(SQLite::Database& database, const std::string& in = "main");

struct BrokenReference {
  std::int64_t row = 0;
  std::string table;
  /// The table without the row that is referred to.
  std::string to;
  /// "row 3 of the table trials refers to a row of versions that does not exist"
  [[nodiscard]] std::string text() const;
};
/// One of the references without a row; nullopt if there is none.
[[nodiscard]] std::optional<BrokenReference> broken_reference(SQLite::Database& database,
                                                              const std::string& in = "main");

/// While it lives, references are not checked row by row: a removed or renumbered row would cost a search of all rows
/// that may refer to it. Has no effect inside a transaction.
class ForeignKeysOff {
 public:
  explicit ForeignKeysOff(SQLite::Database& database);
  ForeignKeysOff(const ForeignKeysOff&) = delete;
  ForeignKeysOff& operator=(const ForeignKeysOff&) = delete;
  ~ForeignKeysOff();

 private:
  SQLite::Database& database_;
};

}  // namespace tilewright
