// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

/// A file that is written beside its place and renamed to it when complete; the old file stays until then. Caches,
/// bundles, pages and texts are all written so. A draft belongs to its maker and to one thread.
namespace tilewright {

class Draft {
 public:
  /// Drafts the file for `place`. Links are followed: their target is replaced, not the link. The draft's name contains
  /// the process id, so no other process uses it.
  explicit Draft(const std::filesystem::path& place);
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  /// Removes a draft that was not put in place, and the files that SQLite keeps beside it.
  ~Draft();

  /// The file to write to.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Renames the draft to its place and replaces a file there. Returns the error if the rename fails.
  [[nodiscard]] std::error_code put_in_place();

 private:
  void remove() noexcept;

  std::filesystem::path place_;
  std::filesystem::path path_;
};

/// Copies a file to `to` by a draft, and replaces a file there. Returns the error of the copy or the rename.
[[nodiscard]] std::error_code copy_into_place(const std::filesystem::path& from, const std::filesystem::path& to);

/// The end of an error text: why `file` could not be written, and what to do. "its folder x does not exist. Make it
/// (mkdir -p x), or …". Ends with a full stop. `error` is the failed call's.
[[nodiscard]] std::string why_not_written(const std::filesystem::path& file, std::error_code error);

}  // namespace tilewright
