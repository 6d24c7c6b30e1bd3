// SPDX-License-Identifier: Apache-2.0
#pragma once

// An arrival at an mbarrier (ptx/mbarrier.cuh) of another block that orders no memory accesses. One that releases to
// the cluster waits for all of the thread's accesses, to global memory too; where a thread has only read, and by
// instructions whose end it has waited for (wgmma, ptx/wgmma.cuh), there is nothing to order. sm_90 and later.

#include "device/ptx/address.cuh"

namespace tilewright::ptx {

// `barrier` is given by map_shared (ptx/cluster.cuh).
__device__ __forceinline__ void mbarrier_arrive_cluster_relaxed(u64* barrier) {
  asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(cluster_address(barrier))
               : "memory");
}

}  // namespace tilewright::ptx
