// SPDX-License-Identifier: Apache-2.0
#pragma once

// Orderings that a barrier does not give. sm_90 and later.

#include "device/config.cuh"

namespace tilewright::ptx {

// Makes this thread's writes to shared memory visible to bulk copies that start later.
__device__ __forceinline__ void fence_shared_to_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Makes this thread's mbarrier_init visible to the cluster and to bulk copies; a barrier must still follow.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

}  // namespace tilewright::ptx
