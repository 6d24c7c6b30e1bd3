// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/device_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace tilewright {
namespace {

constexpr std::chrono::milliseconds kPoll{100};
// Another user of the host must be able to lock the same file.
constexpr mode_t kForAll = 0666;

}  // namespace

void DeviceLock::Close::operator()(int* descriptor) const noexcept {
  ::close(*descriptor);
  delete descriptor;
}

DeviceLock::DeviceLock(const std::string& uuid, const std::filesystem::path& folder,
                       const std::function<bool()>& interrupted, const std::function<void(const std::string&)>& note) {
  if (uuid.empty()) return;
  const std::filesystem::path path = folder / fmt::format("tilewright-{}.lock", uuid);
  // No O_CREAT on what is there: sticky folders refuse that for another user's file.
  int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kForAll);
    if (descriptor >= 0) (void)::fchmod(descriptor, kForAll);
  }
  if (descriptor < 0) {
    note(fmt::format("{} cannot be made ({}): another tuner on this GPU would go unnoticed", path.string(),
                     std::strerror(errno)));
    return;
  }
  held_.reset(new int(descriptor));
  bool told = false;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    if (interrupted()) return;
    if (why == EINTR) continue;
    if (why != EWOULDBLOCK) {
      note(fmt::format("{} cannot be locked ({}): another tuner on this GPU would go unnoticed", path.string(),
                       std::strerror(why)));
      return;
    }
    if (!told) note(fmt::format("waiting for another tuner to be done with {}", uuid));
    told = true;
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace tilewright
