// SPDX-License-Identifier: Apache-2.0
#pragma once

// cp.async: copies from global to shared memory that run while the thread goes on. A commit closes a group of copies; a
// wait names how many of the youngest groups may still be in flight. A wait makes the copies visible to the waiting
// thread alone; other threads need a barrier after it. sm_80 and later.

#include "device/ptx/address.cuh"

namespace tilewright::ptx {

// Copies `kBytes` (4, 8 or 16) between addresses that are multiples of kBytes. 16 bytes bypass L1.
template <int kBytes>
__device__ __forceinline__ void cp_async(void* shared, const void* global) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(global) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(shared)), "l"(global), "n"(kBytes)
                 : "memory");
  }
}

// The same through L1, for data that neighbouring blocks read too.
template <int kBytes>
__device__ __forceinline__ void cp_async_cached(void* shared, const void* global) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(shared)), "l"(global), "n"(kBytes)
               : "memory");
}

// Like cp_async, but reads only `source_bytes` (0 to kBytes) and fills the rest with zeros; 0 reads nothing.
template <int kBytes>
__device__ __forceinline__ void cp_async_zero_fill(void* shared, const void* global, u32 source_bytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global),
                 "r"(source_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(shared)), "l"(global),
                 "n"(kBytes), "r"(source_bytes)
                 : "memory");
  }
}

__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most kGroupsLeft of the committed groups are in flight.
template <int kGroupsLeft>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroupsLeft) : "memory");
}

}  // namespace tilewright::ptx
