// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tilewright::service {

/// Threads for requests that read files, so that connections do not wait. Work begins in the order posted.
class WorkerPool {
 public:
  /// `most`: the longest queue.
  WorkerPool(std::size_t threads, std::size_t most);
  /// Does the waiting work first.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Returns false and drops `work` if the queue is full. `work` must not throw.
  [[nodiscard]] bool post(std::function<void()> work);
  /// Whether no work is waiting or running.
  [[nodiscard]] bool is_idle();

 private:
  void run(const std::stop_token& stop);

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> waiting_;
  std::size_t working_ = 0;
  std::vector<std::jthread> threads_;
};

/// Lowers the calling thread's priority, so that measurements on this machine get the cores first.
void give_way() noexcept;

}  // namespace tilewright::service
