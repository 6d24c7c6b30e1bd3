// SPDX-License-Identifier: Apache-2.0
#pragma once

// cp.async.bulk.prefetch brings `bytes` bytes into L2; the thread does not wait. Size and address are multiples of 16.
// sm_90 and later.

#include "device/config.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void bulk_prefetch(const void* global, u32 bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes) : "memory");
}

}  // namespace tilewright::ptx
