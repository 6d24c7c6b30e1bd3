// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cache/store/import.hpp"
#include "tuner/app/place.hpp"
#include "tuner/report/table.hpp"

/// Imports the winners of other caches, and packs, into one cache.
namespace tilewright::app {

struct ImportRequest {
  /// Its cache receives the imports.
  Place place;
  std::vector<std::filesystem::path> files;
};

struct ImportResult {
  /// One row for each op and device; empty if there were no winners.
  Table table;
  /// Problems that the caches serve different configs for. The better-evidenced winner is taken.
  std::vector<Conflict> conflicts;
  /// Warnings about files that others can write.
  std::vector<std::string> warnings;
};

/// Checks all caches before anything is written; packs one by one, each taken wholly or not at all. `tell` is told of
/// the progress. Throws UsageError if a file is missing or a bundle, CacheError if one is damaged.
[[nodiscard]] ImportResult import_files(const ImportRequest& request,
                                        const std::function<void(const std::string&)>& tell = {});
/// The packs of a folder, by name, or the file itself. Throws UsageError for a folder without packs.
[[nodiscard]] std::vector<std::filesystem::path> packs_of(const std::filesystem::path& named);
[[nodiscard]] Table table_of(const std::vector<Conflict>& conflicts);
/// The conflict as a line for people.
[[nodiscard]] std::string text_of(const Conflict& conflict);

}  // namespace tilewright::app
