// SPDX-License-Identifier: Apache-2.0
#include "cache/store/pack/folding.hpp"

#include <fmt/format.h>

#include "cache/base/error.hpp"
#include "cache/store/pack/frame_file.hpp"
#include "cache/store/pack/pack_name.hpp"
#include "cache/store/pack/sha256.hpp"
#include "cache/store/whole_file.hpp"

namespace tilewright {

namespace fs = std::filesystem;

std::vector<OpCounts> Folding::fold(const fs::path& pack) {
  const std::string hash = sha256_of(pack), named = hash_in_name(pack);
  if (hash != named) {
    throw CacheError(fmt::format("cannot fold the pack {}: {}. Get the file again, and keep its name.", pack.string(),
                                 named.empty()
                                     ? "its name does not end in the SHA-256 of its content"
                                     : fmt::format("it is damaged, since the SHA-256 of its content is {}", hash)));
  }
  try {
    return WholeFile::fold(to_, unpacked(pack), hash, pack.filename().string(), work_.path());
  } catch (const CacheError& error) {
    throw CacheError(fmt::format("cannot fold the pack {}: {}", pack.string(), error.what()), error.code(),
                     error.kind());
  }
}

}  // namespace tilewright
