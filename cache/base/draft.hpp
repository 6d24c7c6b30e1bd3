// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

/// A file that is made beside its place and put there when it is whole, so that what stands there stays until then. One
/// mechanism for all that Tilewright writes whole: caches, bundles, pages, texts. A draft is its maker's alone, and is
/// used by one thread.
namespace tilewright {

class Draft {
 public:
  /// Drafts the file that is to stand at `place`. Links are followed: their target is replaced, not the link. The draft
  /// has a name of this process alone, so that no other file is taken for it.
  explicit Draft(const std::filesystem::path& place);
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  /// Removes a draft that was not put in its place, and the files that SQLite keeps beside it.
  ~Draft();

  /// The file to write to.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Replaces what is there; the error where that cannot be.
  [[nodiscard]] std::error_code put_in_place();

 private:
  void remove() noexcept;

  std::filesystem::path place_;
  std::filesystem::path path_;
};

/// Why `file` could not be written, and what to do: "its folder x does not exist. Make it (mkdir -p x), or …". For the
/// end of an error text; ends with a full stop. `error` is of the failed call.
[[nodiscard]] std::string why_not_written(const std::filesystem::path& file, std::error_code error);

}  // namespace tilewright
