// SPDX-License-Identifier: Apache-2.0
#include "cache/base/draft.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "cache/base/file_facts.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

/// Follows links, also to a file that does not exist yet.
fs::path without_links(fs::path path) {
  // The limit of Linux.
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int links = 0; links < kMostLinks && fs::is_symlink(fs::symlink_status(path, error)); ++links) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;
  }
  return path;
}

}  // namespace

Draft::Draft(const fs::path& place) : place_(without_links(place)), path_(place_) {
  path_ += fmt::format(".{}.new", ::getpid());
  remove();
}

Draft::~Draft() { remove(); }

std::error_code Draft::put_in_place() {
  std::error_code error;
  fs::rename(path_, place_, error);
  return error;
}

void Draft::remove() noexcept {
  for (const char* companion : {"", "-wal", "-shm", "-journal"}) {
    fs::path each = path_;
    each += companion;
    std::error_code ignored;
    fs::remove(each, ignored);
  }
}

std::error_code copy_into_place(const fs::path& from, const fs::path& to) {
  Draft draft(to);
  std::error_code error;
  fs::copy_file(from, draft.path(), error);
  return error ? error : draft.put_in_place();
}

std::string why_not_written(const fs::path& file, std::error_code error) {
  const std::string folder = folder_of(file).string();
  constexpr const char* kOther = "or name another file";
  if (error == std::errc::no_such_file_or_directory) {
    return fmt::format("its folder {0} does not exist. Make it (mkdir -p {0}), {1}.", folder, kOther);
  }
  if (error == std::errc::not_a_directory) return fmt::format("{} is not a folder. Name another file.", folder);
  if (error == std::errc::is_a_directory) return "it is a folder. Name a file in it.";
  if (error == std::errc::permission_denied || error == std::errc::operation_not_permitted ||
      error == std::errc::read_only_file_system) {
    return fmt::format("this user may not write in the folder {0} ({1}; ls -ld {0}). Give it the right, {2}.", folder,
                       error.message(), kOther);
  }
  if (error == std::errc::no_space_on_device || error == std::errc::file_too_large) {
    return fmt::format("there is no room for it in {0} ({1}; df -h {0}). Make some, {2}.", folder, error.message(),
                       kOther);
  }
  return fmt::format("{}. Check the folder {}, {}.", error.message(), folder, kOther);
}

}  // namespace tilewright
