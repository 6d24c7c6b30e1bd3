// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "cache/store/sqlite/schema.hpp"

/// The guard against files that somebody else made, after SQLite's advice ("Defense Against The Dark Arts"): views,
/// triggers and expressions of the file run nothing, pages are judged as they are read, the tables must be ours, and no
/// question runs forever.
namespace tilewright {

/// To be called first, since it adds the functions of the schema, too: reads nothing of the file.
void distrust(SQLite::Database& database);

/// Whether the file is of the step's schema and its tables, indexes and views are word for word what the step creates:
/// a step that makes all of them anew tells at once, in a hundredth of the time that a model takes (6 ms), that they
/// are ours.
[[nodiscard]] bool has_tables_as_written(SQLite::Database& database, const Migration& step);

/// Throws CacheError, before any table is asked, unless the tables, indexes and views are those that `steps` up to the
/// file's schema make. Comments and spaces do not count.
void require_our_tables(SQLite::Database& database, const std::filesystem::path& path,
                        std::span<const Migration> steps);

/// Bounds the work of one access to a file: a cyclic tree of pages has rows without end. Belongs to one connection,
/// which must not outlive it.
class WorkLimit {
 public:
  /// `bytes` tells the size of the file whenever the bound for a small one is reached.
  explicit WorkLimit(std::function<std::uintmax_t()> bytes) : bytes_(std::move(bytes)) {}
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

  void watch(SQLite::Database& database);
  /// The watched database is as large as that, whatever becomes of the file.
  void copied(std::uintmax_t bytes) {
    bytes_ = [bytes] { return bytes; };
  }
  /// A new access begins.
  void renew() noexcept { steps_ = 0; }

 private:
  static int step(void* limit) noexcept;

  std::function<std::uintmax_t()> bytes_;
  std::uintmax_t steps_ = 0;
};

}  // namespace tilewright
