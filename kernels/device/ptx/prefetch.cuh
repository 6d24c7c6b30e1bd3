// SPDX-License-Identifier: Apache-2.0
#pragma once

// Brings the line of L2 that holds a global address; the thread does not wait.

#include "device/config.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void prefetch_l2(const void* global) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(global) : "memory");
}

}  // namespace tilewright::ptx
