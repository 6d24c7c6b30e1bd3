// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/periodic_task.hpp"

#include <utility>

#include "cache/launch/own_thread.hpp"

namespace tilewright::launch {

PeriodicTask::PeriodicTask(std::chrono::milliseconds interval, std::function<void()> work) {
  if (interval.count() <= 0) return;
  thread_ = own_thread([this, interval, work = std::move(work)] {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, interval, [this] { return is_ended_; })) {
      lock.unlock();
      work();
      lock.lock();
    }
  });
}

PeriodicTask::~PeriodicTask() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

}  // namespace tilewright::launch
