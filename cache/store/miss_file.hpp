// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/model/records.hpp"

/// The file of misses: shapes that applications asked for without getting an exact winner, to be tuned by `tilewright
/// sweep --misses`. A text file apart from the cache, which applications do not write (docs/cache.md has its format).
/// Any number of processes and threads append to one file. Each call locks it, works and closes it, so that nothing is
/// open between calls and a fork is harmless.
///
/// The file's size is bounded: when it is full, lines of one shape become one, and if that is not enough the least
/// asked are dropped. A file that cannot be understood is a CacheError and stays as it is, byte for byte.
namespace tilewright {

/// TILEWRIGHT_MISSES, or nullopt if that is `off`; else `$XDG_CACHE_HOME/tilewright/misses`, else
/// `~/.cache/tilewright/misses`; nullopt if none of them is set.
[[nodiscard]] std::optional<std::filesystem::path> default_misses_path();

class MissFile {
 public:
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;

  /// Opens nothing yet. `most_bytes` bounds the file.
  explicit MissFile(std::filesystem::path path, std::int64_t most_bytes = kMostBytes);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// One for each shape and device, the most asked first; empty if there is no file. Throws CacheError.
  [[nodiscard]] std::vector<Miss> read() const;

  /// Adds lines; makes the file and its folders if they do not exist. Does not wait: false, with nothing written, if
  /// another process has the file locked. Throws CacheError; nothing is added then.
  [[nodiscard]] bool append(std::span<const Miss> misses) const;

  /// Removes these shapes on these devices; counts are ignored. Returns how many were there. Throws CacheError.
  std::size_t remove(std::span<const Miss> misses) const;

  /// Moves the file to `to`, on the same file system, once nobody reads or writes it. False if there is none. Throws
  /// CacheError.
  [[nodiscard]] bool move_to(const std::filesystem::path& to) const;

 private:
  std::filesystem::path path_;
  std::int64_t most_bytes_;
};

}  // namespace tilewright
