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

/// Threads that answer what reads files, so that connections wait for none of it. What is posted first is begun first.
class WorkerPool {
 public:
  /// At most `most` wait.
  WorkerPool(std::size_t threads, std::size_t most);
  /// Waiting work is done first.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// False where too many wait; then nothing happens. `work` throws nothing.
  [[nodiscard]] bool post(std::function<void()> work);
  /// Nothing is waiting or at work.
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

/// The thread that calls goes behind whatever else wants the machine's cores: what is measured there must not wait.
void give_way() noexcept;

}  // namespace tilewright::service
