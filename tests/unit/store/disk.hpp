// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tilewright::store_tests {

/// The place of a value in a cache.
struct Place {
  std::string table;
  std::string column;
  std::int64_t row = 0;
};

/// Changes rows of a cache as a disk or a stray write does: their checksums stay.
class Disk {
 public:
  explicit Disk(const std::filesystem::path& path) : database_(path.string(), SQLite::OPEN_READWRITE) {
    constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
    sqlite3_create_function(
        database_.getHandle(), "row_hash", -1, kFlags, &kept_,
        [](sqlite3_context* context, int, sqlite3_value**) {
          sqlite3_result_int64(context, *static_cast<std::int64_t*>(sqlite3_user_data(context)));
        },
        nullptr, nullptr);
    sqlite3_create_function(
        database_.getHandle(), "is_intact", -1, kFlags, nullptr,
        [](sqlite3_context* context, int, sqlite3_value**) { sqlite3_result_int(context, 1); }, nullptr, nullptr);
    database_.exec("PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
  }

  [[nodiscard]] std::vector<std::string> tables() {
    return texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
  }
  [[nodiscard]] std::vector<std::string> columns(const std::string& table) {
    return texts(fmt::format("SELECT name FROM pragma_table_info('{}') WHERE pk = 0", table));
  }
  [[nodiscard]] std::vector<std::int64_t> rows(const std::string& table, const std::string& where = "1") {
    std::vector<std::int64_t> all;
    SQLite::Statement query(database_, fmt::format("SELECT rowid FROM {} WHERE {}", table, where));
    while (query.executeStep()) all.push_back(query.getColumn(0).getInt64());
    return all;
  }

  /// The bytes of a text or blob; 1 for other values, which change as a whole.
  [[nodiscard]] std::size_t size(const Place& place) {
    SQLite::Statement read(database_, reading(place));
    read.executeStep();
    const SQLite::Column value = read.getColumn(0);
    return value.isText() || value.isBlob() ? static_cast<std::size_t>(value.getBytes()) : 1;
  }

  /// Changes a byte of the value, calls `judge`, and restores the value. Returns false without the call if SQLite
  /// refuses the change because two rows would be the same.
  template <class Judge>
  bool change(const Place& place, std::size_t byte, const Judge& judge) {
    SQLite::Statement read(database_, reading(place));
    read.executeStep();
    const SQLite::Column was = read.getColumn(0);
    const bool is_put = put(place, [&](SQLite::Statement& update) {
      if (was.isText() || was.isBlob()) {
        std::string bytes(static_cast<const char*>(was.getBlob()), static_cast<std::size_t>(was.getBytes()));
        bytes.at(byte) ^= 1;
        if (was.isText()) return update.bind(1, bytes);
        return update.bind(1, bytes.data(), static_cast<int>(bytes.size()));
      }
      if (was.isInteger()) return update.bind(1, was.getInt64() ^ 1);
      if (was.isFloat()) return update.bind(1, was.getDouble() * 1.5 + 1);
      update.bind(1, 1);
    });
    if (!is_put) return false;
    judge();
    put(place, [&](SQLite::Statement& update) {
      if (was.isInteger()) return update.bind(1, was.getInt64());
      if (was.isFloat()) return update.bind(1, was.getDouble());
      if (was.isBlob()) return update.bind(1, was.getBlob(), was.getBytes());
      if (was.isNull()) return update.bind(1);
      update.bind(1, was.getString());
    });
    return true;
  }

 private:
  static std::string reading(const Place& place) {
    return fmt::format("SELECT {} FROM {} WHERE rowid = {}", place.column, place.table, place.row);
  }

  std::vector<std::string> texts(const std::string& sql) {
    std::vector<std::string> all;
    SQLite::Statement query(database_, sql);
    while (query.executeStep()) all.push_back(query.getColumn(0).getString());
    return all;
  }

  template <class Bind>
  bool put(const Place& place, const Bind& bind) {
    SQLite::Statement checksum(database_, reading({place.table, "checksum", place.row}));
    checksum.executeStep();
    kept_ = checksum.getColumn(0).getInt64();
    SQLite::Statement update(
        database_, fmt::format("UPDATE {} SET {} = ? WHERE rowid = {}", place.table, place.column, place.row));
    bind(update);
    return update.tryExecuteStep() == SQLITE_DONE;
  }

  std::int64_t kept_ = 0;
  SQLite::Database database_;
};

}  // namespace tilewright::store_tests
