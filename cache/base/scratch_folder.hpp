// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "cache/base/descriptor.hpp"

/// A folder for scratch files.
namespace tilewright {

/// A folder for this user alone, removed with this object. The first one of a process also removes folders that killed
/// processes left: this user's, older than an hour and not locked.
class ScratchFolder {
 public:
  /// Made in TMPDIR, else in /tmp. Throws Error if that folder does not exist or is not writable. `doing` completes
  /// "cannot …": "keep binaries".
  explicit ScratchFolder(std::string_view doing);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  /// Locked while this object lives.
  Descriptor held_;
};

/// Removes the folders that killed processes left in `folder`. Public for tests.
void remove_abandoned(const std::filesystem::path& folder) noexcept;

}  // namespace tilewright
