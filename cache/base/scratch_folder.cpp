// SPDX-License-Identifier: Apache-2.0
#include "cache/base/scratch_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <system_error>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "tilewright-scratch-";
// Longer than a new folder waits for its lock.
constexpr std::time_t kOldSeconds = 3600;

fs::path place(std::string_view doing) {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  if (!error) return folder;
  const char* named = std::getenv("TMPDIR");
  throw Error(fmt::format("cannot {}: there is no folder {} for temporary files{}", doing,
                          named == nullptr ? "/tmp" : named,
                          named == nullptr ? ". Make it (mkdir -m 1777 /tmp), or name another: export TMPDIR=FOLDER"
                                           : " (named by TMPDIR). Type: unset TMPDIR"));
}

Descriptor open_folder(const fs::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

void remove_if_abandoned(const fs::path& path) {
  const Descriptor folder = open_folder(path);
  struct stat facts {};
  const bool is_old_and_own = folder && ::fstat(folder.get(), &facts) == 0 && facts.st_uid == ::geteuid() &&
                              facts.st_mtim.tv_sec + kOldSeconds < std::time(nullptr);
  std::error_code ignored;
  if (is_old_and_own && folder.lock(LOCK_EX | LOCK_NB)) fs::remove_all(path, ignored);
}

}  // namespace

void remove_abandoned(const fs::path& folder) noexcept {
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
    if (each->path().filename().native().starts_with(kPrefix)) remove_if_abandoned(each->path());
  }
}

ScratchFolder::ScratchFolder(std::string_view doing) {
  const fs::path folder = place(doing);
  static std::once_flag once;
  std::call_once(once, [&] { remove_abandoned(folder); });
  std::string name = (folder / kPrefix).string() + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(fmt::format("cannot {}: no temporary folder can be made in {} ({}). Set TMPDIR to a writable folder",
                            doing, folder.string(), std::strerror(errno)));
  }
  path_ = name;
  held_ = open_folder(path_);
  if (held_) (void)held_.lock(LOCK_EX);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace tilewright
