// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <filesystem>
#include <span>

#include "cache/store/sqlite/schema.hpp"

/// Recognising a database and bringing it forward. `PRAGMA application_id` says whose file it is, `PRAGMA user_version`
/// which schema; both are in the first page, so that refusing a file reads nothing else and writes nothing.
namespace tilewright {

/// "TwRt".
inline constexpr std::int32_t kApplicationId = 0x54775274;

enum class FileKind : std::uint8_t {
  empty,  ///< nothing has been stored in it: zero length, or no table
  ours,
};

/// The kind of the open database. Throws CacheError for another program's database and for a schema newer than the last
/// of `steps`, SQLite::Exception for a file that is no database.
[[nodiscard]] FileKind recognise(SQLite::Database& database, const std::filesystem::path& path,
                                 std::span<const Migration> steps);

/// The schema of the file as it stands: 0 for an empty one.
[[nodiscard]] int stored_schema(SQLite::Database& database);

/// Takes the steps that are missing, each in a transaction of its own and checked for broken references before its
/// commit, so that a step that fails leaves the file at the step before. Several processes may call this at once.
/// Throws SQLite::Exception, or CacheError naming the step.
void migrate(SQLite::Database& database, const std::filesystem::path& path, std::span<const Migration> steps);

}  // namespace tilewright
