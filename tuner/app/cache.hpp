// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cache/store/space.hpp"
#include "tuner/app/place.hpp"
#include "tuner/report/table.hpp"

/// The space that a cache takes, and the removal of unused rows.
namespace tilewright::app {

struct CacheInfo {
  std::filesystem::path file;
  CacheSpace space;
  /// Packs folded into the cache.
  std::int64_t packs = 0;
};
/// Throws CacheError if the cache cannot be read.
[[nodiscard]] CacheInfo cache_info(const Place& place);
/// Two tables of a cache's contents: by table, then by op.
[[nodiscard]] std::vector<Table> tables_of(const CacheInfo& info, const Place& place);

struct CollectRequest {
  Place place;
  bool dry_run = false;
  bool damaged = false;
  /// How many past winners of each role stay, the newest first.
  int past_winners = 8;
};

struct CollectResult {
  std::vector<Garbage> garbage;
  std::int64_t bytes_before = 0, bytes_after = 0;
  bool dry_run = false;
  /// Why the file could not be compacted; empty if it was, or if compaction would not have paid.
  std::string not_smaller;
};
/// Throws CacheError if a sweep is running or the cache cannot be written.
[[nodiscard]] CollectResult collect(const CollectRequest& request);
[[nodiscard]] Table table_of(const CollectResult& result);

}  // namespace tilewright::app
