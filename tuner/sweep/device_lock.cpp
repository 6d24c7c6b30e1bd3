// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/device_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLockPoll{100};
constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

/// The text after `name:` in the driver's file, without surrounding blanks.
std::string field(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(fmt::format("{}:", name));
  if (at == std::string_view::npos) return {};
  text = text.substr(at + name.size() + 1);
  text = text.substr(0, text.find('\n'));
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return std::string(text.substr(begin, text.find_last_not_of(" \t") + 1 - begin));
}

/// A GPU's node; nullopt if the driver does not tell (another operating system, a part of a GPU).
std::optional<fs::path> node_of(const std::string& uuid, const LockPlaces& places) {
  std::error_code error;
  for (const fs::directory_entry& gpu : fs::directory_iterator(places.gpus, error)) {
    std::ifstream file(gpu.path() / "information");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (field(text, "GPU UUID") != uuid) continue;
    fs::path node = places.nodes / ("nvidia" + field(text, "Device Minor"));
    if (fs::exists(node, error)) return node;
  }
  return std::nullopt;
}

bool is_own(const struct stat& facts, mode_t type) {
  return (facts.st_mode & S_IFMT) == type && facts.st_uid == ::geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_own_folder(const fs::path& folder) {
  struct stat facts {};
  return ::lstat(folder.c_str(), &facts) == 0 && is_own(facts, S_IFDIR);
}

[[noreturn]] void refuse(const fs::path& planted, const char* what) {
  throw Error(
      fmt::format("locking the GPU failed: {} is not {} of this user alone: someone else put it there. See whose "
                  "it is (ls -ld {}) and have it removed",
                  planted.string(), what, planted.string()));
}

/// Opens a lock file in the own folder. On failure returns an empty descriptor and sets errno.
Descriptor open_own(const std::string& uuid, const fs::path& folder) {
  if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST) return Descriptor();
  if (!is_own_folder(folder)) refuse(folder, "a folder");
  const fs::path path = folder / fmt::format("tilewright-{}.lock", uuid);
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kFileMode));
  struct stat facts {};
  if (!file ? errno == ELOOP : ::fstat(file.get(), &facts) != 0 || !is_own(facts, S_IFREG)) refuse(path, "a file");
  return file;
}

}  // namespace

LockPlaces lock_places() {
  LockPlaces places;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && fs::path(runtime).is_absolute() && is_own_folder(runtime)) {
    places.own = runtime;
  } else {
    places.own = fmt::format("/tmp/tilewright-{}", ::geteuid());
  }
  return places;
}

DeviceLock::DeviceLock(const std::string& uuid, const LockPlaces& places, const std::function<bool()>& interrupted,
                       const std::function<void(const std::string&)>& note) {
  if (uuid.empty()) return;
  const std::optional<fs::path> node = node_of(uuid, places);
  held_ = node ? Descriptor(::open(node->c_str(), O_RDWR | O_CLOEXEC)) : open_own(uuid, places.own);
  const auto tell = [&](const char* what) {
    note(fmt::format("{} cannot be {} ({}): another tuner on this GPU would go unnoticed",
                     (node ? *node : places.own).string(), what, std::strerror(errno)));
  };
  if (!held_) {
    tell("opened for a lock");
    return;
  }
  bool told = false;
  while (!held_.lock(LOCK_EX | LOCK_NB)) {
    if (errno != EWOULDBLOCK) {
      tell("locked");
      return;
    }
    if (interrupted()) return;
    if (!told) note(fmt::format("waiting for another tuner to be done with {}", uuid));
    told = true;
    std::this_thread::sleep_for(kLockPoll);
  }
}

}  // namespace tilewright
