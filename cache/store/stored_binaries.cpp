// SPDX-License-Identifier: Apache-2.0
#include "cache/store/stored_binaries.hpp"

#include "cache/store/codecs.hpp"

namespace tilewright {
namespace {

std::vector<std::byte> read_dictionary(Database& database, std::int64_t id) {
  Query row = database.query("SELECT data FROM dictionaries WHERE id = ? AND intact", id);
  if (!row.next()) throw BadRow("a binary's dictionary is not there");
  const auto data = row.blob(0);
  return {data.begin(), data.end()};
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
  const std::vector<std::byte> dictionary =
      row.null(first + 3) ? std::vector<std::byte>() : read_dictionary(database, row.integer(first + 3));
  return decompress_binary(row.blob(first + 2), row.integer(first + 1), row.text(first), dictionary);
}

std::vector<std::byte> binary_of(Database& database, std::int64_t id) {
  Query row = database.query("SELECT hash, size, data, dictionary FROM binaries WHERE id = ? AND intact", id);
  if (!row.next()) throw BadRow("a binary is not there");
  return read_binary(database, row);
}

}  // namespace tilewright
