// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

/// The options of opening a cache file. Values.
namespace tilewright {

enum class StoreAccess : std::uint8_t {
  read,   ///< must exist; never written, works in a read-only folder
  write,  ///< created when absent, migrated forward when older
  draft,  ///< as `write`, without a log: of one process, to be thrown away where that or the machine ends meanwhile
  copy,   ///< as it is at this moment, in memory: must exist, may be older (the copy is migrated), is never written
  read_older,  ///< as `read`, and as `copy` where the file is of an older schema
};

[[nodiscard]] constexpr bool may_write(StoreAccess access) noexcept {
  return access == StoreAccess::write || access == StoreAccess::draft;
}

struct StoreOptions {
  StoreAccess access = StoreAccess::write;
  /// How long to wait for another writer before giving up with a CacheError that says so.
  std::chrono::milliseconds busy_timeout{10'000};
};

}  // namespace tilewright
