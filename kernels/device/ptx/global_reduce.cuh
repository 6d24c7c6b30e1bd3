// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums into global memory that nobody waits for: four neighbouring floats are added to, each by itself, at a multiple of 16
// bytes. Who reads them comes later, in another kernel. sm_90 and later.

#include "device/config.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void reduce_add(float* to, float a, float b, float c, float d) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
}

}  // namespace tilewright::ptx
