// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Database.h>

#include <string_view>

/// The SQL functions of the schema, which every connection needs before its first statement:
///
///   row_hash(table, id, value…)            32 bits of XXH3 over the types and bytes of all
///   is_intact(table, checksum, id, value…)  1, or an error that begins with kDamagedRow
///   content_hash(value)                     cache/base/content_hash.hpp
///   current_hash(value)                     cache/base/former_hashes.hpp
///
/// A changed row goes unnoticed once in 2^32. The functions are the same on every machine and in every version.
namespace tilewright {

inline constexpr std::string_view kDamagedRow = "damaged row: ";

void add_row_functions(SQLite::Database& database);

}  // namespace tilewright
