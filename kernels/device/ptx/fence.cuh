// SPDX-License-Identifier: Apache-2.0
#pragma once

// Orderings that a barrier does not give. sm_90 and later.

#include "device/config.cuh"

namespace tilewright::ptx {

// What this thread wrote to shared memory becomes visible to bulk copies that start later.
__device__ __forceinline__ void fence_shared_to_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// This thread's mbarrier_init becomes visible to the cluster and to bulk copies; a barrier must still follow.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

}  // namespace tilewright::ptx
