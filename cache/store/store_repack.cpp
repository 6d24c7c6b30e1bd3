// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include "cache/store/binaries.hpp"
#include "cache/store/store_impl.hpp"

namespace tilewright {
namespace {

std::vector<std::int64_t> ids_of_binaries(Database& database) {
  std::vector<std::int64_t> ids;
  Query query = database.query("SELECT id FROM binaries ORDER BY id");
  while (query.next()) ids.push_back(query.integer(0));
  return ids;
}

std::vector<std::byte> packed_anew(Database& database, std::int64_t id, Packing packing) {
  Query query = database.query("SELECT hash, size, data FROM binaries WHERE id = ?", id);
  query.next();
  return compress_binary(decompress_binary(query.blob(2), query.integer(1), query.text(0)), packing);
}

}  // namespace

void Store::repack(Packing packing) {
  constexpr const char* kDoing = "pack the binaries anew";
  if (impl_->in_batch) {
    throw fault(kDoing, path(), "has a batch of writes that has not ended", "Nothing was written. Commit it before");
  }
  impl_->writing(kDoing, [&, &database = impl_->database] {
    // All ids first: rows that are written while others are still read may be seen twice.
    for (const std::int64_t id : ids_of_binaries(database)) {
      const std::vector<std::byte> frame = packed_anew(database, id, packing);
      database.run("UPDATE binaries SET data = ? WHERE id = ?", std::span<const std::byte>(frame), id);
    }
  });
  seal();
}

}  // namespace tilewright
