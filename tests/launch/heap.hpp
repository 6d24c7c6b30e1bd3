// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// The heap of a program that links this: counts all allocations, by any caller and function. Without a sanitizer, it
/// can also make one fail.
namespace tilewright::testing {

struct Heap {
  std::atomic<bool> is_watched;
  /// Counted while is_watched.
  std::atomic<int> allocations;
  /// The number of the allocation that fails, from 1; 0: none.
  std::atomic<int> failing;
  /// All later allocations fail, too.
  std::atomic<bool> for_good;
  /// Blocks not yet freed.
  std::atomic<int> living;
  /// Returns whether an allocation is not the library's. Null: all count.
  std::atomic<int (*)()> exempts;
};

extern Heap heap;

}  // namespace tilewright::testing
