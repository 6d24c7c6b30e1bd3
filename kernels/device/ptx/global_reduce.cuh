// SPDX-License-Identifier: Apache-2.0
#pragma once

// Asynchronous sums into global memory. reduce_add adds to four neighbouring floats at a multiple of 16 bytes, each by
// itself. bulk_reduce_add adds many floats from shared memory, as bulk_store (ptx/bulk_copy.cuh) copies them; its group
// ends after the addition. Counters let blocks of one kernel wait for each other: writes before add_release are visible
// after load_acquire has read the sum; bulk copies need a fence_global_to_async behind it. sm_90 and later.

#include "device/ptx/address.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void reduce_add(float* to, float a, float b, float c, float d) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
}

__device__ __forceinline__ void bulk_reduce_add(float* to, const float* shared, u32 bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(shared)), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void fence_global_to_async() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

__device__ __forceinline__ void add_release(u32* to, u32 value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

__device__ __forceinline__ u32 load_acquire(const u32* from) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

}  // namespace tilewright::ptx
