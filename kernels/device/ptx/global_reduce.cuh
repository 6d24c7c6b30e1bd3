// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums into global memory that nobody waits for: four neighbouring floats are added to, each by itself, at a multiple
// of 16 bytes. Who reads them comes later, in another kernel. And counters by which blocks of one kernel wait for each
// other: what was written before add_release is seen after load_acquire has seen the sum. sm_90 and later.

#include "device/config.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void reduce_add(float* to, float a, float b, float c, float d) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
}

__device__ __forceinline__ void add_release(u32* to, u32 value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

__device__ __forceinline__ u32 load_acquire(const u32* from) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

}  // namespace tilewright::ptx
