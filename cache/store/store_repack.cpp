// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "cache/store/dictionaries.hpp"
#include "cache/store/store_impl.hpp"
#include "cache/store/stored_binaries.hpp"

namespace tilewright {
namespace {

std::vector<std::int64_t> ids_of(Query&& query) {
  std::vector<std::int64_t> ids;
  while (query.next()) ids.push_back(query.integer(0));
  return ids;
}

void write_anew(Database& database, std::int64_t id, Packing packing, std::optional<std::int64_t> dictionary = {}) {
  const std::vector<std::byte> bytes = binary_of(database, id);
  database.run("UPDATE binaries SET dictionary = ? WHERE id = ?", dictionary, id);
  Query words = database.query("SELECT data FROM dictionaries WHERE id = ?", dictionary);
  const std::vector<std::byte> frame =
      compress_binary(bytes, packing, words.next() ? words.blob(0) : std::span<const std::byte>());
  database.run("UPDATE binaries SET data = ? WHERE id = ?", std::span<const std::byte>(frame), id);
}

/// Shared ones twice: what they have in common is taken from all.
void repack_binaries(Database& database, Packing packing) {
  // All ids first: rows that are written while others are still read may be seen twice.
  const std::vector<std::int64_t> all = ids_of(database.query("SELECT id FROM binaries ORDER BY id"));
  for (const std::int64_t id : all) write_anew(database, id, packing);
  database.run("DELETE FROM dictionaries");
  if (packing != Packing::shared) return;
  for (const std::int64_t id : ids_of(database.query("SELECT id FROM implementations ORDER BY id"))) {
    const std::int64_t dictionary = add_dictionary(database, id);
    if (dictionary == 0) continue;
    for (const std::int64_t binary : binaries_of(database, id)) write_anew(database, binary, packing, dictionary);
  }
}

}  // namespace

void Store::repack(Packing packing) {
  constexpr const char* kDoing = "pack the binaries anew";
  if (impl_->in_batch) {
    throw fault(kDoing, path(), "has a batch of writes that has not ended", "Nothing was written. Commit it before");
  }
  impl_->writing(kDoing, [&] { repack_binaries(impl_->database, packing); });
  seal();
}

}  // namespace tilewright
