// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "cache/base/descriptor.hpp"

/// A folder for files that are gone with the program.
namespace tilewright {

/// A folder of this user's alone, removed with this object. Making one also removes the folders that killed processes
/// left: those of this user that are older than an hour and that no process holds.
class TemporaryFolder {
 public:
  /// In TMPDIR, else in /tmp. Throws Error where that is no folder that can be written; `doing` completes "cannot …":
  /// "keep binaries".
  explicit TemporaryFolder(std::string_view doing);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  /// Locked as long as the process lives.
  Descriptor held_;
};

/// Removes what killed processes left in `folder`; for tests.
void remove_abandoned(const std::filesystem::path& folder) noexcept;

}  // namespace tilewright
