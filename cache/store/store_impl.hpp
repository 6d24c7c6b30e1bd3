// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Exception.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cache/base/clock.hpp"
#include "cache/predict/nearest.hpp"
#include "cache/store/codecs.hpp"
#include "cache/store/sqlite/database.hpp"
#include "cache/store/sqlite/faults.hpp"
#include "cache/store/store.hpp"

/// The shared part of the Store's sources (store.cpp, store_trials.cpp, store_winners.cpp…): the open database, and the
/// frame around each access, which turns any fault inside into one CacheError. Private to cache/store.
namespace tilewright {

struct Store::Impl {
  Impl(const std::filesystem::path& path, const StoreOptions& options)
      : database(path, options), writable(may_write(options.access)) {}

  /// Runs `work`; `doing` completes "cannot …". If the file was opened as immutable and has changed, the result is
  /// discarded, and `work` runs again on the reopened file.
  template <class Work>
  auto reading(const char* doing, Work work) {
    if constexpr (std::is_void_v<decltype(work())>) {
      return reading(doing, [&] {
        work();
        return true;
      });
    } else {
      return reading_value(doing, work);
    }
  }

  template <class Work>
  auto reading_value(const char* doing, Work& work) {
    for (int tries_left = 3; tries_left > 0; --tries_left) {
      if (database.promise_broken()) database.reopen();
      database.begin_access();
      try {
        auto result = work();
        if (!database.promise_broken()) return result;
      } catch (const SQLite::Exception& refusal) {
        if (!database.promise_broken()) throw fault(doing, database.path(), refusal, database.busy_timeout());
      } catch (const BadRow& row) {
        if (!database.promise_broken()) throw damage(doing, database.path(), row.what());
      } catch (const CacheError&) {
        if (!database.promise_broken()) throw;
      }
    }
    throw fault(doing, database.path(), "changes all the time in a folder that this user may not write",
                "Wait until it is written, then run the same again");
  }

  /// reading() inside one write transaction, committed when `work` returns and rolled back when it throws.
  template <class Work>
  auto writing(const char* doing, Work work) {
    if (!writable) {
      throw fault(doing, database.path(), "was opened for reading only",
                  "Nothing was written. Open it with StoreAccess::write");
    }
    if (in_batch) return reading(doing, std::move(work));
    return reading(doing, [&] {
      Transaction transaction = database.begin_write();
      if constexpr (std::is_void_v<decltype(work())>) {
        work();
        transaction.commit();
        return true;
      } else {
        auto result = work();
        transaction.commit();
        return result;
      }
    });
  }

  Database database;
  bool writable;
  /// A Batch has begun a transaction.
  bool in_batch = false;
  std::int64_t version_at_opening = 0;

  /// Values decoded so far, for one state of the file: by hash, by op, or by the ids of spec and device and the mode.
  struct Kept {
    using OfSpec = std::tuple<std::int64_t, std::int64_t, MeasureMode>;
    /// Counts of others' commits, of own changes, and of reopenings.
    std::array<std::int64_t, 3> state{};
    std::map<std::string, std::optional<OpInterface>> newest_interfaces;
    std::map<std::string, std::optional<OpInterface>> interfaces;
    std::map<std::string, std::optional<StoredImplementation>> implementations;
    std::optional<std::vector<DeviceFacts>> devices;
    std::map<OfSpec, FlatShapes> shapes;
    /// The median and the floor of the best winner of each shape that was asked for; a median of 0 if it has none.
    std::map<OfSpec, std::map<ShapeDims, std::pair<double, double>>> times;
    std::map<OfSpec, std::shared_ptr<const Learned>> learned;
  };
  Kept kept;
  /// The ceilings of each device, for `state`: stored trials do not change them.
  struct KnownCeilings {
    std::array<std::int64_t, 3> state{};
    std::map<std::string, std::vector<Ceiling>> of_device;
  };
  KnownCeilings ceilings;
  /// The models read so far, by the hash of their stored bytes: they stay whatever else changes in the file.
  std::map<std::string, std::shared_ptr<const LossModel>> models;
  /// `kept`, cleared if the file has changed. Call it inside a snapshot.
  Kept& current() {
    Query version = database.query("PRAGMA data_version");
    version.next();
    const std::array state{version.integer(0), static_cast<std::int64_t>(database.handle().getTotalChanges()),
                           database.generation()};
    if (kept.state != state) kept = {state, {}, {}, {}, {}, {}, {}, {}};
    return kept;
  }
  /// The value of `key` in a map of `kept`; `read` makes a missing one. Call it inside a snapshot.
  template <class Map, class Read>
  const auto& keep(Map Kept::*map, const typename Map::key_type& key, Read read) {
    Map& known = current().*map;
    const auto found = known.find(key);
    // A failed read is not kept: the next call reports it again.
    return found != known.end() ? found->second : known.emplace(key, read()).first->second;
  }
};

/// The implementations that the loss models were learned of. A model of another program names none.
[[nodiscard]] std::vector<std::string> implementations_of_models(Database& database);
/// Reads all loss models. Throws BadRow if one is damaged.
void check_loss_models(Database& database);

}  // namespace tilewright
