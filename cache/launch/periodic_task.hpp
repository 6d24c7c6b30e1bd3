// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tilewright::launch {

/// Does something again and again on a thread of its own, until it is destroyed; what it does must not throw.
/// Destroying it waits for what is being done.
class PeriodicTask {
 public:
  /// An interval of 0: never, and there is no thread.
  PeriodicTask(std::chrono::milliseconds interval, std::function<void()> work);
  ~PeriodicTask();
  PeriodicTask(const PeriodicTask&) = delete;
  PeriodicTask& operator=(const PeriodicTask&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ended_ = false;
  std::thread thread_;
};

}  // namespace tilewright::launch
