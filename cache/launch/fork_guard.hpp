// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// Tells a process from its children by fork, which inherit a launcher that they cannot use: CUDA does not outlive a
/// fork, a lock may be held by a thread that the child does not have, and an open database must not be touched. Asking
/// costs one read of memory that never changes otherwise. For any number of threads.
namespace tilewright::launch {

class ForkGuard {
 public:
  ForkGuard() noexcept;
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  /// True in children of the process that made this.
  [[nodiscard]] bool is_foreign() const noexcept { return forks.load(std::memory_order_relaxed) != made_at_; }
  /// Throws DeviceError in such a child.
  void require_own_process() const {
    if (is_foreign()) refuse();
  }

 private:
  [[noreturn, gnu::cold]] static void refuse();

  /// Between the first process of the program and this one, as far as guards were made before them.
  static std::atomic<unsigned> forks;
  unsigned made_at_;
};

}  // namespace tilewright::launch
