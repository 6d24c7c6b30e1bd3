// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "cache/base/descriptor.hpp"

/// Files that outlive a power cut, and folders that one process at a time changes.
namespace tilewright {

/// A folder is this process's to change while it lives: others wait.
class FolderLock {
 public:
  /// Makes the folder where there is none. Throws Error that names the folder, also once `cancelled`, which is asked
  /// while another has it.
  explicit FolderLock(const std::filesystem::path& folder, const std::function<bool()>& cancelled = {});

 private:
  Descriptor held_;
};

/// A file that bytes are added to. Where the disk is full, what is there of it goes: it would keep the disk full.
class GrowingFile {
 public:
  /// Goes on with one that is there. Throws Error.
  explicit GrowingFile(const std::filesystem::path& file);

  [[nodiscard]] std::uintmax_t size() const noexcept { return static_cast<std::uintmax_t>(size_); }
  void begin_anew();
  /// Throws Error.
  void add(std::string_view bytes);

 private:
  [[noreturn]] void fail(int code) const;

  std::filesystem::path file_;
  Descriptor open_;
  std::int64_t size_ = 0;
};

/// The text is on the disk, whole, before it takes its place. Throws Error.
void write_durably(const std::filesystem::path& file, std::string_view text);
/// Of a folder that this process has locked: drafts that a kill has left.
void forget_drafts(const std::filesystem::path& folder);
/// Brings the file's content to the disk. Throws Error.
void sync_file(const std::filesystem::path& file);
/// Nothing but the first `most` bytes. Empty where there is no file. Throws Error where it cannot be read.
[[nodiscard]] std::string read_at_most(const std::filesystem::path& file, std::size_t most);

}  // namespace tilewright
