// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "cache/store/sqlite/schema.hpp"

/// The guard against files that somebody else made, after SQLite's advice ("Defense Against The Dark Arts"): views,
/// triggers and expressions of the file run nothing, pages are checked as they are read, the tables must be ours, and
/// the work of an access is bounded.
namespace tilewright {

/// Call this first: it also adds the functions of the schema. Reads nothing of the file.
void distrust(SQLite::Database& database);

/// True if the file has the step's schema and its tables, indexes and views are word for word those of the step. For a
/// step that makes all of them anew this proves that they are ours, in a hundredth of the time of a model (6 ms).
[[nodiscard]] bool has_tables_as_written(SQLite::Database& database, const Migration& step);

/// Throws CacheError, before any table is read, unless the tables, indexes and views are those that `steps` up to the
/// file's schema make. Comments and spaces are ignored.
void require_our_tables(SQLite::Database& database, const std::filesystem::path& path,
                        std::span<const Migration> steps);

/// Bounds the work of one access to a file: a cyclic tree of pages has endless rows. Belongs to one connection, which
/// must not outlive it.
class WorkLimit {
 public:
  /// `bytes` returns the file's size. It is called when the bound for a small file is reached.
  explicit WorkLimit(std::function<std::uintmax_t()> bytes) : bytes_(std::move(bytes)) {}
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

  void watch(SQLite::Database& database);
  /// Bounds the work by this size from now on, whatever becomes of the file.
  void copied(std::uintmax_t bytes) {
    bytes_ = [bytes] { return bytes; };
  }
  /// Begins a new access.
  void renew() noexcept { steps_ = 0; }

 private:
  static int step(void* limit) noexcept;

  std::function<std::uintmax_t()> bytes_;
  std::uintmax_t steps_ = 0;
};

}  // namespace tilewright
