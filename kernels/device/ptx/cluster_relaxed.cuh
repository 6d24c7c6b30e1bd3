// SPDX-License-Identifier: Apache-2.0
#pragma once

// An arrival at the barrier of a cluster (ptx/cluster.cuh) that orders no memory accesses. The arrival that does waits
// for all of the thread's accesses, global memory included, at the scope of the device. If the blocks tell each other
// only of fresh mbarriers, fence_mbarrier_init (ptx/fence.cuh) before this one suffices. sm_90 and later.

#include "device/config.cuh"

namespace tilewright::ptx {

// All threads of the cluster call; cluster_wait follows.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

}  // namespace tilewright::ptx
