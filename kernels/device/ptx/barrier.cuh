// SPDX-License-Identifier: Apache-2.0
#pragma once

// Named barriers of a block, 0 to 15; 0 is the barrier of __syncthreads. `threads` is the number of threads that take
// part, a multiple of 32. A sync waits for them; an arrive only counts. All lanes of a warp must call together.

#include "device/config.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void barrier_sync(u32 id, u32 threads) {
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void barrier_arrive(u32 id, u32 threads) {
  asm volatile("barrier.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace tilewright::ptx
