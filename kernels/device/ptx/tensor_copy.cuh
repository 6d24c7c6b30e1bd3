// SPDX-License-Identifier: Apache-2.0
#pragma once

// cp.async.bulk.tensor: one thread starts the copy of a box of a matrix described by a tensor map
// (device/tensor_map.cuh). `x` is the box's first element along the map's first (fastest) dimension, `y` along its
// second. Elements outside the matrix read as zeros and are not written; the mbarrier counts the bytes of the whole box
// in either case. Shared memory is aligned to 128 bytes, with a swizzle to its 8 rows. Loads complete on an mbarrier,
// stores with their bulk group (ptx/bulk_copy.cuh: bulk_commit, bulk_wait…). sm_90 and later.

#include "device/ptx/address.cuh"
#include "device/tensor_map.cuh"

namespace tilewright::ptx {

// Fetches the map itself, so that the first copy does not wait for it.
__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

__device__ __forceinline__ void tensor_load(void* shared, const TensorMap& map, i32 x, i32 y, u64* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(shared)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(barrier))
      : "memory");
}

// The same with an L2 policy (ptx/cache_policy.cuh).
__device__ __forceinline__ void tensor_load_with_policy(void* shared, const TensorMap& map, i32 x, i32 y, u64* barrier,
                                                        u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, "
      "%3}], "
      "[%4], %5;" ::"r"(shared_address(shared)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}

// Copies into each block of the cluster whose rank's bit is set in `blocks`: to the place of `shared` in that block,
// counted on its mbarrier at the place of `barrier`.
__device__ __forceinline__ void tensor_load_multicast(void* shared, const TensorMap& map, i32 x, i32 y, u64* barrier,
                                                      u16 blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, "
      "%3}], [%4], %5;" ::"r"(shared_address(shared)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(barrier)), "h"(blocks)
      : "memory");
}

// From shared to global memory, in the open group of bulk stores. The box may reach or lie beyond the end of the
// matrix, and must not begin before it: loads take a negative `x` or `y`, stores fault on it as an illegal instruction
// (seen on an H200).
__device__ __forceinline__ void tensor_store(const TensorMap& map, i32 x, i32 y, const void* shared) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x),
               "r"(y), "r"(shared_address(shared))
               : "memory");
}

}  // namespace tilewright::ptx
