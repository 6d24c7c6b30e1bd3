// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

/// Prepared statements, made at their first use and kept: opening a cache prepares nothing, and a repeated write parses
/// its SQL once. Owned by one Database, for one thread at a time.
namespace tilewright {

/// One run of a prepared statement: values are bound in order at construction, rows are read one by one. The statement
/// is reset at the end of the scope: a half-read statement holds its snapshot open and old rows in sight. Bound blobs
/// are not copied: they must outlive the run.
class Query {
 public:
  template <class... Values>
  explicit Query(SQLite::Statement& statement, const Values&... values) : statement_(statement) {
    int index = 0;
    (bind(++index, values), ...);
  }
  ~Query() { statement_.tryReset(); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  /// Steps to the next row; false if there is none left. Throws SQLite::Exception.
  bool next() { return statement_.executeStep(); }
  /// For statements without rows. Throws SQLite::Exception.
  void run() {
    while (statement_.executeStep()) {
    }
  }

  // Columns of the current row, counted from 0; a NULL reads as 0 or "".
  [[nodiscard]] std::int64_t integer(int column) const { return statement_.getColumn(column).getInt64(); }
  [[nodiscard]] int small(int column) const { return statement_.getColumn(column).getInt(); }
  [[nodiscard]] double real(int column) const { return statement_.getColumn(column).getDouble(); }
  [[nodiscard]] std::string text(int column) const { return statement_.getColumn(column).getString(); }
  [[nodiscard]] bool null(int column) const { return statement_.getColumn(column).isNull(); }
  /// Valid until the next row.
  [[nodiscard]] std::span<const std::byte> blob(int column) const;
  [[nodiscard]] std::optional<std::int64_t> maybe_integer(int column) const;
  [[nodiscard]] std::optional<int> maybe_small(int column) const;
  [[nodiscard]] std::optional<double> maybe_real(int column) const;

 private:
  template <std::integral Integer>
  void bind(int index, Integer value) {
    statement_.bind(index, static_cast<std::int64_t>(value));
  }
  void bind(int index, double value) { statement_.bind(index, value); }
  void bind(int index, std::nullopt_t) { statement_.bind(index); }
  void bind(int index, std::string_view value) { statement_.bind(index, std::string(value)); }
  void bind(int index, std::span<const std::byte> value);
  template <class Value>
  void bind(int index, const std::optional<Value>& value) {
    if (value) {
      bind(index, *value);
    } else {
      statement_.bind(index);
    }
  }

  SQLite::Statement& statement_;
};

class StatementCache {
 public:
  /// `sql` must be a literal: its address is the key.
  [[nodiscard]] SQLite::Statement& get(const SQLite::Database& database, const char* sql);
  /// Drops all statements; none may be in use.
  void clear() noexcept { statements_.clear(); }

 private:
  std::unordered_map<const char*, std::unique_ptr<SQLite::Statement>> statements_;
};

}  // namespace tilewright
