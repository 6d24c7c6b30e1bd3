// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tilewright::launch {

/// Repeats work on a thread of its own until it is destroyed. The work must not throw. The destructor waits for a
/// running call.
class PeriodicTask {
 public:
  /// An interval of 0 starts no thread.
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
