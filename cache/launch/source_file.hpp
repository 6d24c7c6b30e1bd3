// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "cache/serve/winner_source.hpp"

namespace tilewright::launch {

/// A cache or a bundle by its path: opened when first needed, and reopened when it has changed. For one thread at a
/// time, except reopen().
class SourceFile {
 public:
  /// `allow_shared`: even if other users can write it.
  SourceFile(std::filesystem::path path, bool allow_shared);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] bool is_open() const noexcept { return source_ != nullptr; }
  /// Throws CacheError if the file cannot be opened, is neither a cache nor a bundle, or is writable by others.
  [[nodiscard]] const WinnerSource& get();

  /// True if opening it again may show other content.
  [[nodiscard]] bool has_changed() const { return is_open() && source_->changed(); }
  struct Reopened {
    std::unique_ptr<WinnerSource> source;
    std::uint64_t winners_state = 0;
  };
  /// From any thread, at any time. Takes milliseconds: reads the winners of a large cache. Throws as get().
  [[nodiscard]] Reopened reopen() const;
  /// Swaps in the reopened file; `reopened` then holds the old one. True if the winners may differ: a tuner writes
  /// often but changes winners seldom.
  bool exchange(Reopened& reopened);

 private:
  std::filesystem::path path_;
  bool allow_shared_;
  std::unique_ptr<WinnerSource> source_;
  /// The state of `source_`'s winners. 0, unknown, at first: finding it would make each start read all winners.
  std::uint64_t winners_state_ = 0;
};

}  // namespace tilewright::launch
