// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "cache/store/sqlite/database.hpp"

/// All rows of a cache as columns: the content of a pack. A later program makes a cache of their schema and migrates
/// it. Without pages, indexes and checksums they pack a quarter smaller than the cache. Numbers are LEB128 (seven bits
/// a byte, the lowest first); a part is its size and its bytes:
///
///   "tilewright columns 1\n", schema, number of tables
///   a table:   its name (a part), number of rows, number of columns
///   a column:  its name (a part), then five parts:
///              a byte a row, 0 NULL, 1 integer, 2 real, 3 text, 4 blob;
///              the integers, each less the one before, as zigzag numbers;
///              the reals, the first bytes of all (little-endian), then the second, to the eighth;
///              the sizes of texts and blobs; their bytes
namespace tilewright {

/// Throws CacheError if the cache cannot be read, Error if `file` cannot be written.
void write_columns(const std::filesystem::path& cache, const std::filesystem::path& file,
                   const Surroundings& surroundings = {});

/// Makes a cache of this program's schema from such a file; `empty-SCHEMA.db` stays beside it for the next call. Throws
/// CacheError if the columns are damaged or of a newer schema.
void read_columns(std::string_view content, const std::filesystem::path& cache, const Surroundings& surroundings = {});

/// Attaches such content as the database `pack`, in memory, without indexes, checksums and constraints except
/// references; an older schema is attached as a cache in `folder`. Throws as read_columns, and BadRow for damage.
void attach_columns(Database& database, std::string_view content, const std::filesystem::path& folder);

}  // namespace tilewright
