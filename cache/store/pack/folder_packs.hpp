// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/scratch_folder.hpp"
#include "cache/store/pack/pack.hpp"
#include "cache/store/store.hpp"
#include "cache/store/whole_file.hpp"

namespace tilewright {

/// Behind the hashes of all packs.
inline constexpr std::string_view kHighestHash = "~";

/// The packs of a folder, folded into one cache. Any thread may ask.
class FolderPacks {
 public:
  /// Folds the packs whose names begin with these words, or have no hash. Throws CacheError that names a pack.
  FolderPacks(const std::filesystem::path& folder, const std::set<std::string>& first_words);

  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept { return files_; }
  /// WholeFile::changes_of_fold
  [[nodiscard]] FoldChanges changes_of_fold(std::string_view columns,
                                            const std::string& hash = std::string(kHighestHash));

 private:
  ScratchFolder work_;
  Store store_;
  std::vector<std::filesystem::path> files_;
  std::mutex mutex_;
};

/// Those of the older packs, of the same parts as the new ones, that bring no row beside these.
[[nodiscard]] std::vector<std::filesystem::path> superseded_by(const std::vector<PackFile>& packs,
                                                               const std::vector<std::filesystem::path>& older);

}  // namespace tilewright
