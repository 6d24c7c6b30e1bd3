// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/fork_guard.hpp"

#include <pthread.h>

#include "cache/base/error.hpp"

namespace tilewright::launch {

std::atomic<unsigned> ForkGuard::forks{0};

ForkGuard::ForkGuard() noexcept {
  static const int kWatching = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(kWatching);
  made_at_ = forks.load(std::memory_order_relaxed);
}

void ForkGuard::refuse() {
  throw DeviceError(
      "the launcher was opened by the process that this one was forked from, and CUDA cannot be used across a fork: "
      "fork before CUDA is used, or start the child anew (spawn), and open a launcher there");
}

}  // namespace tilewright::launch
