// SPDX-License-Identifier: Apache-2.0
#pragma once

// cp.async.bulk.tensor of four dimensions, for tensors with strides of their own: as ptx/tensor_copy.cuh, with the
// box's first element along each dimension of the map, the fastest first. In shared memory the box is a dense array,
// its first dimension fastest; the other dimensions order its rows. sm_90 and later.

#include "device/ptx/address.cuh"
#include "device/tensor_map.cuh"

namespace tilewright::ptx {

struct BoxCorner {
  i32 x, y, z, w;
};

__device__ __forceinline__ void tensor_load(void* shared, const TensorMap& map, BoxCorner at, u64* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];" ::"r"(shared_address(shared)),
      "l"(&map), "r"(at.x), "r"(at.y), "r"(at.z), "r"(at.w), "r"(shared_address(barrier))
      : "memory");
}

// The same with an L2 policy (ptx/cache_policy.cuh).
__device__ __forceinline__ void tensor_load_with_policy(void* shared, const TensorMap& map, BoxCorner at, u64* barrier,
                                                        u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, %3, "
      "%4, %5}], [%6], %7;" ::"r"(shared_address(shared)),
      "l"(&map), "r"(at.x), "r"(at.y), "r"(at.z), "r"(at.w), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}

}  // namespace tilewright::ptx
