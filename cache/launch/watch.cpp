// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/watch.hpp"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace tilewright::launch {

Watch::Watch(std::chrono::milliseconds interval, std::function<void()> work) {
  if (interval.count() <= 0) return;
  // The application's signals are for its own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, interval, work = std::move(work)] {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, interval, [this] { return is_ended_; })) {
      lock.unlock();
      work();
      lock.lock();
    }
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watch::~Watch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

}  // namespace tilewright::launch
