// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cache/base/scratch_folder.hpp"
#include "cache/store/import.hpp"
#include "cache/store/store.hpp"

namespace tilewright {

/// Folds packs into a cache, one after the other.
class Folding {
 public:
  explicit Folding(Store& to) : to_(to), work_("fold packs") {}
  /// WholeFile::fold of a pack of this schema or an older one. Throws CacheError if it is damaged or misnamed.
  std::vector<OpCounts> fold(const std::filesystem::path& pack);

 private:
  Store& to_;
  ScratchFolder work_;
};

}  // namespace tilewright
