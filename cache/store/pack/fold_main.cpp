// SPDX-License-Identifier: Apache-2.0
// tilewright_fold CACHE PACK...: makes CACHE anew from packs, as one file that launchers open. The build folds
// kernels/winners with it. CACHE is replaced at the end, and stays as it is if anything fails.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"
#include "cache/base/scratch_folder.hpp"
#include "cache/store/import.hpp"
#include "cache/store/pack/folding.hpp"
#include "cache/store/pack/pack_name.hpp"
#include "cache/store/store.hpp"
#include "cache/store/whole_file.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

void fold(const fs::path& cache, std::span<char*> packs) {
  // Not in its place: a build tree may lie on a network file system, where a cache must not be written.
  const ScratchFolder folder("fold packs");
  const fs::path work = folder.path() / "work.db", whole = folder.path() / "cache.db";
  {
    Store store(work, {.access = StoreAccess::draft});
    Folding folding(store);
    for (std::size_t i = 0; i < packs.size(); ++i) {
      (void)folding.fold(packs[i]);
      // A line for each tenth.
      if ((i + 1) * 10 / packs.size() == i * 10 / packs.size()) continue;
      fmt::print("{}: {} of {} packs are folded\n", cache.filename().string(), i + 1, packs.size());
      std::fflush(stdout);
    }
    WholeFile::write_compact(store, whole);
  }
  if (const std::error_code error = copy_into_place(whole, cache)) {
    throw Error(fmt::format("cannot write {}: {}", cache.string(), why_not_written(cache, error)));
  }
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) try {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  const auto packs = words.subspan(std::min<std::size_t>(words.size(), 2));
  if (packs.empty() || !std::ranges::all_of(packs, [](const char* file) { return tilewright::is_pack(file); })) {
    fmt::print(stderr, "tilewright_fold: it takes a cache and packs. Type: tilewright_fold CACHE FOLDER/*.pack\n");
    return 2;
  }
  tilewright::fold(words[1], packs);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "tilewright_fold: %s\n", error.what());
  return 1;
}
