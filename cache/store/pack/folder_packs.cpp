// SPDX-License-Identifier: Apache-2.0
#include "cache/store/pack/folder_packs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <system_error>

#include "cache/base/error.hpp"
#include "cache/store/pack/folding.hpp"
#include "cache/store/pack/frame_file.hpp"
#include "cache/store/pack/pack.hpp"
#include "cache/store/pack/pack_name.hpp"

namespace tilewright {

namespace fs = std::filesystem;

FolderPacks::FolderPacks(const fs::path& folder, const std::set<std::string>& first_words)
    : work_("fold packs"), store_(work_.path() / "known.db") {
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    const fs::path& file = at->path();
    if (!is_pack(file)) continue;
    const bool has_word = first_words.contains(first_word(file.filename().string()));
    if (has_word || hash_in_name(file).empty()) files_.push_back(file);
  }
  if (error) {
    throw CacheError(fmt::format("cannot read the packs of {0}: {1}. Let this user list it (chmod u+rx {0})",
                                 folder.string(), error.message()));
  }
  std::ranges::sort(files_);
  Folding folding(store_);
  for (const fs::path& file : files_) folding.fold(file);
}

FoldChanges FolderPacks::changes_of_fold(std::string_view columns, const std::string& hash) {
  const std::scoped_lock lock(mutex_);
  return WholeFile::changes_of_fold(store_, columns, hash, work_.path());
}

std::vector<fs::path> superseded_by(const std::vector<PackFile>& packs, const std::vector<fs::path>& older) {
  std::vector<fs::path> superseded;
  if (packs.empty() || older.empty()) return superseded;
  const ScratchFolder work("compare packs");
  Store store(work.path() / "new.db");
  Folding folding(store);
  std::set<std::string> parts;
  for (const PackFile& pack : packs) {
    folding.fold(pack.path);
    parts.insert(part_in_name(pack.path));
  }
  std::ranges::copy_if(older, std::back_inserter(superseded), [&](const fs::path& pack) {
    return parts.contains(part_in_name(pack)) &&
           !WholeFile::changes_of_fold(store, unpacked(pack), std::string(kHighestHash), work.path()).has_rows;
  });
  return superseded;
}

}  // namespace tilewright
