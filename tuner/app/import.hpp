// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cache/store/import.hpp"
#include "tuner/app/place.hpp"
#include "tuner/report/table.hpp"

/// Brings the winners of other caches into one.
namespace tilewright::app {

struct ImportRequest {
  /// Its cache takes them.
  Place place;
  std::vector<std::filesystem::path> files;
};

struct ImportResult {
  /// An op and a device a line; none: there were no winners.
  Table table;
  /// Problems that the caches serve different configs for: of two, the better-evidenced winner is taken.
  std::vector<Conflict> conflicts;
  /// Warnings of files that others can write.
  std::vector<std::string> warnings;
};

/// Caches are judged whole, all of them, before anything is written; packs one by one, each taken wholly or not at all.
/// `tell` hears what is being done. Throws UsageError for what is neither, CacheError for one that is damaged.
[[nodiscard]] ImportResult import_files(const ImportRequest& request,
                                        const std::function<void(const std::string&)>& tell = {});
/// The packs of a folder, by name, or a file itself. Throws UsageError for a folder without packs.
[[nodiscard]] std::vector<std::filesystem::path> packs_of(const std::filesystem::path& named);
[[nodiscard]] Table table_of(const std::vector<Conflict>& conflicts);
/// The conflict as a line for people.
[[nodiscard]] std::string text_of(const Conflict& conflict);

}  // namespace tilewright::app
