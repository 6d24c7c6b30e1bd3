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
  /// Packs that were folded in.
  std::int64_t packs = 0;
};
/// Throws CacheError for a cache that cannot be read.
[[nodiscard]] CacheInfo cache_info(const Place& place);
/// The tables of a cache's contents: by table, then by op.
[[nodiscard]] std::vector<Table> tables_of(const CacheInfo& info, const Place& place);

struct CollectRequest {
  Place place;
  bool dry_run = false;
  bool damaged = false;
  /// The newest past winners of each role that stay.
  int past_winners = 8;
};

struct CollectResult {
  std::vector<Garbage> garbage;
  std::int64_t bytes_before = 0, bytes_after = 0;
  bool dry_run = false;
  /// Why the file did not become smaller, though it might have; empty: it did, or it would not have paid.
  std::string not_smaller;
};
/// Throws CacheError where a sweep is running, or the cache cannot be written.
[[nodiscard]] CollectResult collect(const CollectRequest& request);
[[nodiscard]] Table table_of(const CollectResult& result);

}  // namespace tilewright::app
