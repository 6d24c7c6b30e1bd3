// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/temporary_folder.hpp"
#include "cache/store/import.hpp"
#include "cache/store/store.hpp"

/// Packs: what sweeps learned of one implementation of an op in one dtype, as immutable files that are added once and
/// folded into a cache. A pack is the columns of a cache with plain binaries (cache/store/columns.hpp) in one zstd
/// frame; its name ends in the SHA-256 of the file, as in `softmax-bf16-onchip-<64 digits>.pack`. Free functions; one
/// thread each.
namespace tilewright {

inline constexpr std::string_view kPackSuffix = ".pack";
/// No pack that is shipped is larger, unless one problem is.
inline constexpr std::uintmax_t kMostPackBytes = std::uintmax_t{4} << 20;

struct PackFile {
  std::filesystem::path path;
  /// 64 hexadecimal digits.
  std::string hash;
  std::uintmax_t bytes = 0;
  std::int64_t trials = 0;
  std::int64_t winners = 0;
};

/// Writes all trials of the implementations that are in use or serve, under the newest interface of each op, into packs
/// of at most `most` bytes in `folder`; a pack that is there stays. Models go into one pack an op, ceilings and rates
/// into one. `written` hears of each. Throws CacheError where a file cannot be written; those before stay.
std::vector<PackFile> write_packs(const Store& from, const std::filesystem::path& folder, const WinnerSelection& filter,
                                  const std::function<void(const PackFile&)>& written,
                                  std::uintmax_t most = kMostPackBytes);

/// Whether a file is named as a pack.
[[nodiscard]] bool is_pack(const std::filesystem::path& file);

/// Folds packs into a cache, one after the other.
class Folding {
 public:
  explicit Folding(Store& to) : to_(to), work_("fold packs") {}
  /// WholeFile::fold of a pack of this schema or an older one. Throws CacheError for one that is damaged or misnamed.
  std::vector<OpCounts> fold(const std::filesystem::path& pack);

 private:
  Store& to_;
  TemporaryFolder work_;
};

/// The SHA-256 of a file's bytes, as 64 hexadecimal digits.
[[nodiscard]] std::string sha256_of(const std::filesystem::path& file);

}  // namespace tilewright
