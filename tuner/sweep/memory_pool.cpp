// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/memory_pool.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "tuner/measure/retakes.hpp"
#include "tuner/sweep/failure.hpp"

namespace tilewright {
namespace {

// The driver and contexts take up to this much of a GPU's memory, or this share.
constexpr std::int64_t kOverhead = std::int64_t{2} << 30;
constexpr std::int64_t kShareOfOverhead = 16;

}  // namespace

bool MemoryPool::evict_all_but(const User& user) {
  bool freed = false;
  for (User* other : users_) {
    if (other == &user || other->held() == 0) continue;
    other->evict();
    freed = true;
  }
  return freed;
}

bool MemoryPool::is_shared() {
  if (device_.facts().is_cpu()) return false;
  if (device_.readings().other_processes.value_or(0) > 0) return true;
  // Processes of other containers may be invisible, but their memory is missing.
  const std::int64_t memory = device_.facts().memory_bytes;
  std::int64_t ours = 0;
  for (const User* user : users_) ours += static_cast<std::int64_t>(user->held());
  const std::int64_t others = memory - static_cast<std::int64_t>(device_.free_bytes()) - ours;
  return others > std::max(kOverhead, memory / kShareOfOverhead);
}

void MemoryPool::use(User& user, const std::function<void()>& work, const std::function<bool()>& interrupted) {
  for (int retake = 0;;) {
    try {
      work();
      may_wait_ = true;
      return;
    } catch (const DeviceError& error) {
      if (error.status() != kOutOfMemory) throw;
      if (evict_all_but(user)) continue;
      if (!is_shared()) throw;
      if (!may_wait_ || retake == kMostRetakes || !wait_for_retake(retake++, interrupted)) {
        may_wait_ = false;
        throw DeviceError(kBesideOthers + std::string(error.what()), kOutOfMemory);
      }
    }
  }
}

}  // namespace tilewright
