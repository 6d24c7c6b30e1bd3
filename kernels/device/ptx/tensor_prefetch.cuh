// SPDX-License-Identifier: Apache-2.0
#pragma once

// cp.async.bulk.prefetch.tensor of four dimensions brings a box of a tensor map (ptx/tensor_copy4.cuh) into L2; the
// thread does not wait. sm_90 and later.

#include "device/ptx/tensor_copy4.cuh"
#include "device/tensor_map.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void tensor_prefetch(const TensorMap& map, BoxCorner at) {
  asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global [%0, {%1, %2, %3, %4}];" ::"l"(&map), "r"(at.x), "r"(at.y),
               "r"(at.z), "r"(at.w)
               : "memory");
}

}  // namespace tilewright::ptx
