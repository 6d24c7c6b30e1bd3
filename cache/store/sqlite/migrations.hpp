// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <filesystem>
#include <span>

#include "cache/store/sqlite/schema.hpp"

/// Recognises a database and migrates it. `PRAGMA application_id` tells the program of a file, `PRAGMA user_version`
/// its schema. Both are in the first page, so that refusing a file reads nothing else and writes nothing.
namespace tilewright {

/// "TwRt".
inline constexpr std::int32_t kApplicationId = 0x54775274;

enum class FileKind : std::uint8_t {
  empty,  ///< zero length, or no table
  ours,
};

/// The kind of the open database. Throws CacheError for another program's database and for a schema newer than the last
/// of `steps`, SQLite::Exception if the file is no database.
[[nodiscard]] FileKind recognise(SQLite::Database& database, const std::filesystem::path& path,
                                 std::span<const Migration> steps);

/// The file's schema; 0 if it is empty.
[[nodiscard]] int stored_schema(SQLite::Database& database);

/// Takes the missing steps, each in a transaction of its own and checked for broken references before its commit: a
/// failed step leaves the file at the step before. Several processes may call this at once. Throws SQLite::Exception,
/// or CacheError that names the step.
void migrate(SQLite::Database& database, const std::filesystem::path& path, std::span<const Migration> steps);

}  // namespace tilewright
