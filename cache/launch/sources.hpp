// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cache/launch/source_file.hpp"

namespace tilewright::launch {

/// The cache that a launcher reads and the fallback, which may serve what the cache cannot: one of them at least can be
/// used. Belongs to one thread at a time, but for reopen().
class Sources {
 public:
  /// Throws CacheError when neither can be used.
  Sources(std::filesystem::path cache, std::optional<std::filesystem::path> fallback, bool allow_shared);

  /// Null: it cannot be used, as cache_error() says.
  [[nodiscard]] const WinnerSource* cache() { return cache_.is_open() ? &cache_.get() : nullptr; }
  /// Opened when it is first needed. Null: there is none, or it cannot be used, as fallback_error() says. Never null
  /// where cache() is.
  [[nodiscard]] const WinnerSource* fallback();
  [[nodiscard]] const std::string& cache_error() const noexcept { return cache_error_; }
  /// Empty where there is none.
  [[nodiscard]] const std::string& fallback_error() const noexcept { return fallback_error_; }
  [[nodiscard]] const std::filesystem::path& path_of(const WinnerSource& source);
  /// For texts: "the cache /home/me/softmax.db".
  [[nodiscard]] std::string title();
  /// All that they know, those of the cache first.
  [[nodiscard]] std::vector<DeviceFacts> devices();

  // Changed files are opened again while others use the open ones, and then taken in at once.
  /// The files to open again.
  struct Changes {
    enum class File { none, changed, was_never_open };
    File cache = File::none, fallback = File::none;
  };
  [[nodiscard]] Changes changes() const;
  struct Reopened {
    std::optional<SourceFile::Reopened> cache, fallback;
  };
  /// From any thread, at any time. Throws CacheError for a file that can no longer be used; one that never could may
  /// still not, and a fallback that cannot be used keeps nobody from a new cache.
  [[nodiscard]] Reopened reopen(const Changes& changes) const;
  /// True if what is served may be other. Gives what was open, which is not to be closed while others wait.
  [[nodiscard]] bool exchange(Reopened& reopened);

 private:
  SourceFile cache_;
  std::optional<SourceFile> fallback_;
  std::string cache_error_, fallback_error_;
};

}  // namespace tilewright::launch
