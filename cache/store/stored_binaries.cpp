// SPDX-License-Identifier: Apache-2.0
#include "cache/store/stored_binaries.hpp"

#include <fmt/format.h>

#include "cache/store/codecs.hpp"

namespace tilewright {
namespace {

/// Checks a dictionary by the bytes already read: `intact` would read them, which fill many pages, a second time.
bool is_whole(Database& database, std::int64_t dictionary, std::span<const std::byte> data) {
  Query row =
      database.query("SELECT checksum = row_hash('dictionaries', id, implementation, ?) FROM dictionaries WHERE id = ?",
                     data, dictionary);
  return row.next() && row.integer(0) != 0;
}

}  // namespace

std::optional<std::int64_t> whole_binary(Database& database, const std::string& hash) {
  Query row = database.query(
      "SELECT hash, size, data, dictionary, id, checksum = row_hash('binaries', id, hash, size, dictionary) "
      "FROM binaries WHERE hash = ?",
      hash);
  if (!row.next() || row.integer(5) == 0) return std::nullopt;
  try {
    (void)read_binary(database, row);
    return row.integer(4);
  } catch (const BadRow&) {
    return std::nullopt;
  }
}

std::int64_t put_binary(Database& database, const std::string& hash, std::int64_t size,
                        std::span<const std::byte> frame, std::optional<std::int64_t> dictionary) {
  database.run(
      "INSERT INTO binaries (hash, size, dictionary, data) VALUES (?, ?, ?, ?) ON CONFLICT (hash) DO UPDATE SET "
      "hash = excluded.hash, size = excluded.size, dictionary = excluded.dictionary, data = excluded.data",
      hash, size, dictionary, frame);
  Query id = database.query("SELECT id FROM binaries WHERE hash = ?", hash);
  id.next();
  return id.integer(0);
}

std::int64_t add_binary(Database& database, const std::string& hash, std::size_t size,
                        std::span<const std::byte> frame) {
  const auto there = whole_binary(database, hash);
  return there ? *there : put_binary(database, hash, static_cast<std::int64_t>(size), frame);
}

std::vector<std::byte> read_binary(Database& database, const Query& row, int first) {
  const auto bytes_by = [&](std::span<const std::byte> dictionary) {
    return decompress_binary(row.blob(first + 2), row.integer(first + 1), row.text(first), dictionary);
  };
  if (row.null(first + 3)) return bytes_by({});
  const std::int64_t id = row.integer(first + 3);
  Query dictionary = database.query("SELECT data FROM dictionaries WHERE id = ?", id);
  if (!dictionary.next()) throw BadRow("a binary's dictionary is not there");
  const std::span<const std::byte> data = dictionary.blob(0);
  if (!is_whole(database, id, data)) throw BadRow(fmt::format("row {} of the table dictionaries", id));
  return bytes_by(data);
}

std::vector<std::byte> binary_of(Database& database, std::int64_t id) {
  Query row = database.query("SELECT hash, size, data, dictionary FROM binaries WHERE id = ? AND intact", id);
  if (!row.next()) throw BadRow("a binary is not there");
  return read_binary(database, row);
}

}  // namespace tilewright
