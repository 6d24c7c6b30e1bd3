// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "cache/serve/winner_source.hpp"

namespace tilewright::launch {

/// A cache or a bundle by its path: opened when it is first needed, and opened again when it has changed. Belongs to
/// one thread at a time, but for reopen().
class SourceFile {
 public:
  /// `allow_shared`: also where other users can write it.
  SourceFile(std::filesystem::path path, bool allow_shared);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] bool is_open() const noexcept { return source_ != nullptr; }
  /// Throws CacheError for a file that cannot be opened, is neither a cache nor a bundle, or may be written by others.
  [[nodiscard]] const WinnerSource& get();

  /// Whether opening it again may show something else.
  [[nodiscard]] bool has_changed() const { return is_open() && source_->changed(); }
  struct Reopened {
    std::unique_ptr<WinnerSource> source;
    std::uint64_t winners_state = 0;
  };
  /// From any thread, at any time: reads the winners of a large cache for milliseconds. Throws as get().
  [[nodiscard]] Reopened reopen() const;
  /// Takes in what was reopened, and gives what was open. True if what is served may be other: a tuner writes all the
  /// time, and winners seldom.
  bool exchange(Reopened& reopened);

 private:
  std::filesystem::path path_;
  bool allow_shared_;
  std::unique_ptr<WinnerSource> source_;
  /// The state of `source_`'s winners; 0: not known, as at first, since knowing it would cost each start the reading of
  /// all winners.
  std::uint64_t winners_state_ = 0;
};

}  // namespace tilewright::launch
