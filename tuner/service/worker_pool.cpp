// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/worker_pool.hpp"

#include <unistd.h>

#include <utility>

namespace tilewright::service {

WorkerPool::WorkerPool(std::size_t threads, std::size_t most) : most_(most) {
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) {
      give_way();
      run(stop);
    });
  }
}

WorkerPool::~WorkerPool() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

bool WorkerPool::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_) return false;
    waiting_.push_back(std::move(work));
  }
  wake_.notify_one();
  return true;
}

bool WorkerPool::is_idle() {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && working_ == 0;
}

void WorkerPool::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, stop, [this] { return !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    ++working_;
    lock.unlock();
    work();
    lock.lock();
    --working_;
  }
}

void give_way() noexcept {
  // On Linux, nice() affects the calling thread alone.
  static_cast<void>(::nice(10) == -1);
}

}  // namespace tilewright::service
