// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/model/records.hpp"

/// The file of misses: shapes that applications asked for and for which there was no exact winner, to be tuned by
/// `tilewright sweep --misses`. A text file apart from the cache, which applications never write (docs/cache.md has its
/// format). Any number of processes and threads append to one file; each call locks it, works and closes it, so that
/// nothing is open between calls and a fork is harmless.
///
/// The file never grows beyond a bound: when it is full, lines of one shape become one, and if that is not enough those
/// asked least are forgotten. A file that cannot be understood is a CacheError and stays as it is, byte for byte.
namespace tilewright {

/// TILEWRIGHT_MISSES, nothing where that is `off`; else `$XDG_CACHE_HOME/tilewright/misses`, else
/// `~/.cache/tilewright/misses`; nothing where none of them is set.
[[nodiscard]] std::optional<std::filesystem::path> default_misses_path();

class MissFile {
 public:
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;

  /// Opens nothing yet. `most_bytes` is what the file may grow to.
  explicit MissFile(std::filesystem::path path, std::int64_t most_bytes = kMostBytes);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// One for each shape and device, the most asked first; none where there is no file. Throws CacheError.
  [[nodiscard]] std::vector<Miss> read() const;

  /// Adds lines; makes the file and its folders where there are none. False, with nothing written, while another
  /// process has the file locked: never waits. Throws CacheError, nothing being added then.
  [[nodiscard]] bool append(std::span<const Miss> misses) const;

  /// Forgets these shapes on these devices (the counts play no part); others stay. Returns how many were there. Throws
  /// CacheError.
  std::size_t remove(std::span<const Miss> misses) const;

 private:
  std::filesystem::path path_;
  std::int64_t most_bytes_;
};

}  // namespace tilewright
