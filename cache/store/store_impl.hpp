// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Exception.h>

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "cache/store/codecs.hpp"
#include "cache/store/database.hpp"
#include "cache/store/faults.hpp"
#include "cache/store/store.hpp"

/// What the parts of the Store share (store.cpp, store_trials.cpp, store_winners.cpp): the open database, and the frame
/// around every access, which makes one CacheError of whatever goes wrong inside. Private to cache/store.
namespace tilewright {

struct Store::Impl {
  Impl(const std::filesystem::path& path, const StoreOptions& options)
      : database(path, options), writable(options.access == StoreAccess::write) {}

  /// Runs `work`; `doing` completes "cannot …".
  template <class Work>
  auto reading(const char* doing, Work work) {
    try {
      return work();
    } catch (const SQLite::Exception& refusal) {
      throw fault(doing, database.path(), refusal, database.busy_timeout());
    } catch (const BadRow& row) {
      throw damage(doing, database.path(), row.what());
    }
  }

  /// The same inside one write transaction, committed when `work` returns and rolled back when it throws.
  template <class Work>
  auto writing(const char* doing, Work work) {
    if (!writable) {
      throw fault(doing, database.path(), "was opened for reading only",
                  "Nothing was written. Open it with StoreAccess::write");
    }
    return reading(doing, [&] {
      SQLite::Transaction transaction = database.begin_write();
      if constexpr (std::is_void_v<decltype(work())>) {
        work();
        transaction.commit();
      } else {
        auto result = work();
        transaction.commit();
        return result;
      }
    });
  }

  Database database;
  bool writable;
};

/// Seconds since 1970.
[[nodiscard]] inline std::int64_t now_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace tilewright
