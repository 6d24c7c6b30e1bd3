// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/service_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>

#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"

namespace tilewright::app {
namespace {

// A killed service's lock lives on in a child that has not called exec yet, and a look at the lock holds it briefly.
constexpr std::chrono::seconds kLockPatience{2};
constexpr std::chrono::milliseconds kLockPause{20};

/// Returns false with errno.
bool lock_patiently(const Descriptor& file) {
  const auto deadline = std::chrono::steady_clock::now() + kLockPatience;
  while (!file.lock(LOCK_EX | LOCK_NB)) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kLockPause);
  }
  return true;
}

}  // namespace

ServiceLock::ServiceLock(const std::filesystem::path& cache) {
  std::error_code ignored;
  std::filesystem::create_directories(cache.parent_path(), ignored);
  const std::filesystem::path file = cache.string() + "-service";
  held_ = Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!held_) {
    throw Error(fmt::format("the service's lock {} cannot be made: {} With --read-only a service needs none",
                            file.string(), why_not_written(file, {errno, std::system_category()})));
  }
  if (lock_patiently(held_)) return;
  if (errno != EWOULDBLOCK) {
    throw Error(fmt::format("the service's lock {} cannot be taken: {}. With --read-only a service needs none",
                            file.string(), std::system_category().message(errno)));
  }
  throw Error(
      fmt::format("another service uses the cache {}, and both would tune the same problems. End that one, or serve "
                  "another cache (--cache), or start this one with --read-only",
                  cache.string()));
}

bool ServiceLock::is_held(const std::filesystem::path& cache) noexcept try {
  const Descriptor file(::open((cache.string() + "-service").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file && !file.lock(LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace tilewright::app
