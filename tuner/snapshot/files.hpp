// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/descriptor.hpp"

/// Files that survive a power cut, and folders that one process at a time changes.
namespace tilewright {

/// Holds the folder's lock while it lives; other processes wait.
class FolderLock {
 public:
  /// Creates a missing folder. Waits while another process has the lock. Throws Error once `cancelled` returns true,
  /// CacheError if the lock file cannot be opened.
  explicit FolderLock(const std::filesystem::path& folder, const std::function<bool()>& cancelled = {});

 private:
  Descriptor held_;
};

/// A file that bytes are appended to. If the disk is full, the file is removed, to make room.
class GrowingFile {
 public:
  /// Continues an existing file. Throws CacheError, as do begin_anew() and add().
  explicit GrowingFile(const std::filesystem::path& file);

  [[nodiscard]] std::uintmax_t size() const noexcept { return static_cast<std::uintmax_t>(size_); }
  void begin_anew();
  void add(std::string_view bytes);

 private:
  [[noreturn]] void fail(int code) const;

  std::filesystem::path file_;
  Descriptor open_;
  std::int64_t size_ = 0;
};

/// Replaces the file once the whole text is on the disk. Throws CacheError.
void write_durably(const std::filesystem::path& file, std::string_view text);
/// Removes the drafts that killed processes left. The caller holds the folder's lock.
void forget_drafts(const std::filesystem::path& folder);
/// The folder's files with one of the extensions (`.part`; empty for none), the newest first.
[[nodiscard]] std::vector<std::filesystem::path> newest_first(const std::filesystem::path& folder,
                                                              std::initializer_list<std::string_view> extensions);
/// Flushes the file's content to the disk. Throws CacheError.
void sync_file(const std::filesystem::path& file);
/// Most bytes of a manifest.
inline constexpr std::size_t kMostManifestBytes = std::size_t{1} << 16;
/// The first `most` bytes; empty if there is no file. Throws Error if it cannot be read.
[[nodiscard]] std::string read_at_most(const std::filesystem::path& file, std::size_t most);

}  // namespace tilewright
