// SPDX-License-Identifier: Apache-2.0
#pragma once

// cp.async.bulk: one thread starts a copy of many bytes, which the hardware carries out. Sizes and addresses are
// multiples of 16. A load completes on an mbarrier, which must expect its bytes. A store completes with its bulk group;
// bulk groups and cp.async groups are separate. A store reads shared memory through the async proxy: call
// fence_shared_to_async first. sm_90 and later.

#include "device/ptx/address.cuh"

namespace tilewright::ptx {

// From global memory to this block's shared memory.
__device__ __forceinline__ void bulk_load(void* shared, const void* global, u32 bytes, u64* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(shared)),
               "l"(global), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

// The same with an L2 policy (ptx/cache_policy.cuh).
__device__ __forceinline__ void bulk_load_with_policy(void* shared, const void* global, u32 bytes, u64* barrier,
                                                      u64 policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
          "r"(shared_address(shared)),
      "l"(global), "r"(bytes), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}

// From this block's shared memory to another's. map_shared (ptx/cluster.cuh) gives `remote` and the mbarrier
// `remote_barrier`, both of that block.
__device__ __forceinline__ void bulk_copy_to_cluster(void* remote, const void* shared, u32 bytes, u64* remote_barrier) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   cluster_address(remote)),
               "r"(shared_address(shared)), "r"(bytes), "r"(cluster_address(remote_barrier))
               : "memory");
}

// From shared to global memory, in the open group.
__device__ __forceinline__ void bulk_store(void* global, const void* shared, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(shared_address(shared)),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until at most kGroupsLeft groups of stores are in flight.
template <int kGroupsLeft>
__device__ __forceinline__ void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kGroupsLeft) : "memory");
}

// Waits until at most kGroupsLeft groups still read shared memory: then it may be rewritten, or the block may end.
template <int kGroupsLeft>
__device__ __forceinline__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kGroupsLeft) : "memory");
}

}  // namespace tilewright::ptx
