// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// The heap of a program that links it: every way into it is counted, whoever allocates, operator new, aligned or not,
/// or SQLite; and where no sanitizer has the heap, an allocation may fail.
namespace tilewright::testing {

struct Heap {
  std::atomic<bool> is_watched;
  /// While it is watched.
  std::atomic<int> allocations;
  /// The allocation that fails, from 1; 0: none.
  std::atomic<int> failing;
  /// And all that follow it.
  std::atomic<bool> for_good;
  /// Blocks that were not freed.
  std::atomic<int> living;
  /// True where what is allocated is not the library's. Null: it always is.
  std::atomic<int (*)()> exempts;
};

extern Heap heap;

}  // namespace tilewright::testing
