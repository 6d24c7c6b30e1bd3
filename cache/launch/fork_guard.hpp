// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// Tells a process from its forked children, which inherit a launcher that they cannot use: CUDA does not survive a
/// fork, a lock may be held by a thread that the child lacks, and an open database must not be touched. A check reads
/// one word, which changes only at a fork. Any number of threads.
namespace tilewright::launch {

class ForkGuard {
 public:
  ForkGuard() noexcept;
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  /// True in forked children of the process that made this.
  [[nodiscard]] bool is_foreign() const noexcept { return forks.load(std::memory_order_relaxed) != made_at_; }
  /// Throws DeviceError in a forked child.
  void require_own_process() const {
    if (is_foreign()) refuse();
  }

 private:
  [[noreturn, gnu::cold]] static void refuse();

  /// Forks between the program's first process and this one, counted from the first guard on.
  static std::atomic<unsigned> forks;
  unsigned made_at_;
};

}  // namespace tilewright::launch
