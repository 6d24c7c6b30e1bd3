// SPDX-License-Identifier: Apache-2.0
#include "cache/base/in_parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tilewright {

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work_on = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    try {
      while (others.size() + 1 < std::min(cores, count)) others.emplace_back(work_on);
    } catch (const std::system_error&) {
      // Fewer threads take longer.
    }
    work_on();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tilewright
