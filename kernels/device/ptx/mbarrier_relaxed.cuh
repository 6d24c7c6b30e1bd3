// SPDX-License-Identifier: Apache-2.0
#pragma once

// An arrival at another block's mbarrier (ptx/mbarrier.cuh) that orders no memory accesses. A release to the cluster
// waits for all of the thread's accesses, global memory included. A thread that has only read, by instructions whose
// end it has awaited (wgmma, ptx/wgmma.cuh), has nothing to order. sm_90 and later.

#include "device/ptx/address.cuh"

namespace tilewright::ptx {

// map_shared (ptx/cluster.cuh) gives `barrier`.
__device__ __forceinline__ void mbarrier_arrive_cluster_relaxed(u64* barrier) {
  asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(cluster_address(barrier))
               : "memory");
}

}  // namespace tilewright::ptx
