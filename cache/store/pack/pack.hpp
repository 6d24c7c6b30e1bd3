// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cache/store/import.hpp"
#include "cache/store/store.hpp"

/// Packs: what sweeps learned about one implementation of an op in one dtype, as immutable files that are folded into a
/// cache. A pack is the columns of a cache with plain binaries (cache/store/columns.hpp) in one zstd frame. Its name
/// ends in the SHA-256 of the file, as in `softmax-bf16-onchip-<64 digits>.pack`. Free functions.
namespace tilewright {

/// No shipped pack is larger, unless a single problem is.
inline constexpr std::uintmax_t kMostPackBytes = std::uintmax_t{4} << 20;

struct PackFile {
  std::filesystem::path path;
  /// 64 hexadecimal digits.
  std::string hash;
  std::uintmax_t bytes = 0;
  std::int64_t trials = 0;
  std::int64_t winners = 0;
};

struct WrittenPacks {
  std::vector<PackFile> packs;
  /// The folder's packs had a whole part of the export: an implementation in a dtype, models or ceilings.
  bool knew_some = false;
  /// Problems whose winners in the folder's packs have the better evidence, and stay when all are folded; by key, with
  /// the file name of the pack.
  std::map<std::string, std::string> kept{};
  /// Specs whose models in the folder's packs know more shapes, and stay when all are folded; with the file name of
  /// such a pack.
  std::map<std::string, std::string> kept_models{};
  /// Older packs of the folder whose rows the new ones have.
  std::vector<std::filesystem::path> superseded{};
};

/// Writes the trials of the implementations that are in use or serve, under the newest interface of each op, into packs
/// of at most `most` bytes in `folder`; each op's models into one, all ceilings and rates into another. Leaves out
/// problems, models and ceilings that would add nothing to a fold of the folder's packs of these ops. Several threads
/// compress; the caller's calls `written` for each pack, in order. Throws CacheError before it writes if a pack cannot
/// be folded, and if a file cannot be written; packs that are complete stay.
WrittenPacks write_packs(const Store& from, const std::filesystem::path& folder, const WinnerSelection& filter,
                         const std::function<void(const PackFile&)>& written, std::uintmax_t most = kMostPackBytes);

}  // namespace tilewright
