// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cache/launch/source_file.hpp"

namespace tilewright::launch {

/// A launcher's cache, and the fallback that serves what the cache cannot. At least one of them can be used. For one
/// thread at a time, except reopen().
class Sources {
 public:
  /// Throws CacheError if neither can be used.
  Sources(std::filesystem::path cache, std::optional<std::filesystem::path> fallback, bool allow_shared);

  /// Null if the cache cannot be used; cache_error() says why.
  [[nodiscard]] const WinnerSource* cache() { return cache_.is_open() ? &cache_.get() : nullptr; }
  /// Opened when first needed. Null if there is none or it cannot be used; fallback_error() says why. Not null if
  /// cache() is null.
  [[nodiscard]] const WinnerSource* fallback();
  [[nodiscard]] const std::string& cache_error() const noexcept { return cache_error_; }
  /// Empty if there is no error or no fallback.
  [[nodiscard]] const std::string& fallback_error() const noexcept { return fallback_error_; }
  [[nodiscard]] const std::filesystem::path& path_of(const WinnerSource& source);
  /// For texts: "the cache /home/me/softmax.db".
  [[nodiscard]] std::string title();
  /// The devices of both, the cache's first.
  [[nodiscard]] std::vector<DeviceFacts> devices();

  // Changed files are reopened while others use the open ones, and then swapped in at once.
  /// The files to reopen.
  struct Changes {
    enum class File { none, changed, was_never_open };
    File cache = File::none, fallback = File::none;
  };
  [[nodiscard]] Changes changes() const;
  struct Reopened {
    std::optional<SourceFile::Reopened> cache, fallback;
  };
  /// From any thread, at any time. Throws CacheError if an open file has become unusable. A file that was never usable
  /// may stay so, and an unusable fallback does not stop a new cache.
  [[nodiscard]] Reopened reopen(const Changes& changes) const;
  /// True if the winners may differ. `reopened` then holds the old files: do not close them while others wait.
  [[nodiscard]] bool exchange(Reopened& reopened);

 private:
  SourceFile cache_;
  std::optional<SourceFile> fallback_;
  std::string cache_error_, fallback_error_;
};

}  // namespace tilewright::launch
