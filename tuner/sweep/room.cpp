// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/room.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "tuner/sweep/failure.hpp"

namespace tilewright {
namespace {

constexpr int kMostRetakes = 3;
// As of times that are disturbed (bench/watch.cpp): a process that ends takes some tenths of a second.
constexpr std::chrono::milliseconds kFirstWait{100};
constexpr std::chrono::milliseconds kPoll{20};
// What the driver and contexts take of a GPU's memory, which is nobody's: so much, or such a share.
constexpr std::int64_t kOverhead = std::int64_t{2} << 30;
constexpr std::int64_t kShareOfOverhead = 16;

/// False when interrupted.
bool wait(int retake, const std::function<bool()>& interrupted) {
  const auto until = std::chrono::steady_clock::now() + kFirstWait * (1 << retake);
  while (std::chrono::steady_clock::now() < until) {
    if (interrupted && interrupted()) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

}  // namespace

bool Room::shed_all_but(const Tenant& tenant) {
  bool freed = false;
  for (Tenant* other : tenants_) {
    if (other == &tenant || other->held() == 0) continue;
    other->shed();
    freed = true;
  }
  return freed;
}

bool Room::is_crowded() {
  if (device_.facts().is_cpu()) return false;
  if (device_.readings().other_processes.value_or(0) > 0) return true;
  // Processes of other containers are not always told of; what they hold is missing all the same.
  const std::int64_t memory = device_.facts().memory_bytes;
  std::int64_t ours = 0;
  for (const Tenant* tenant : tenants_) ours += static_cast<std::int64_t>(tenant->held());
  const std::int64_t others = memory - static_cast<std::int64_t>(device_.free_bytes()) - ours;
  return others > std::max(kOverhead, memory / kShareOfOverhead);
}

void Room::use(Tenant& tenant, const std::function<void()>& work, const std::function<bool()>& interrupted) {
  for (int retake = 0;;) {
    try {
      work();
      hopeful_ = true;
      return;
    } catch (const DeviceError& error) {
      if (error.status() != kOutOfMemory) throw;
      if (shed_all_but(tenant)) continue;
      if (!is_crowded()) throw;
      if (!hopeful_ || retake == kMostRetakes || !wait(retake++, interrupted)) {
        hopeful_ = false;
        throw DeviceError(kBesideOthers + std::string(error.what()), kOutOfMemory);
      }
    }
  }
}

}  // namespace tilewright
