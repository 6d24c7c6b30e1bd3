// SPDX-License-Identifier: Apache-2.0
#pragma once

// cp.async.bulk.tensor of five dimensions: as ptx/tensor_copy.cuh, with the box's first element along each dimension of
// the map, the fastest first. sm_90 and later.

#include "device/ptx/address.cuh"
#include "device/tensor_map.cuh"

namespace tilewright::ptx {

struct BoxCorner5 {
  i32 x, y, z, w, v;
};

__device__ __forceinline__ void tensor_load(void* shared, const TensorMap& map, BoxCorner5 at, u64* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, %6}], "
      "[%7];" ::"r"(shared_address(shared)),
      "l"(&map), "r"(at.x), "r"(at.y), "r"(at.z), "r"(at.w), "r"(at.v), "r"(shared_address(barrier))
      : "memory");
}

}  // namespace tilewright::ptx
