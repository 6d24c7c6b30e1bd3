// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

/// The options of opening a cache file. Values.
namespace tilewright {

enum class StoreAccess : std::uint8_t {
  read,        ///< must exist; is not written, works in a read-only folder
  write,       ///< made if it does not exist, migrated if it is older
  draft,       ///< as `write`, without a log: for one process, to be thrown away if that or the machine ends meanwhile
  copy,        ///< a copy of this moment, in memory: must exist, may be older (the copy is migrated), is not written
  read_older,  ///< as `read`; as `copy` if the file is of an older schema
};

[[nodiscard]] constexpr bool may_write(StoreAccess access) noexcept {
  return access == StoreAccess::write || access == StoreAccess::draft;
}

struct StoreOptions {
  StoreAccess access = StoreAccess::write;
  /// How long to wait for another writer before a CacheError that says so.
  std::chrono::milliseconds busy_timeout{10'000};
};

}  // namespace tilewright
