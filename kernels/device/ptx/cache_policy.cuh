// SPDX-License-Identifier: Apache-2.0
#pragma once

// L2 eviction policies for the accesses `..._with_policy`. They depend on nothing, so that the compiler makes each
// once and keeps it in a register.

#include "device/config.cuh"

namespace tilewright::ptx {

// Data that will not be read again: the first to leave L2.
__device__ __forceinline__ u64 policy_evict_first() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// Data that will be read again, by this kernel or by the next: the last to leave L2.
__device__ __forceinline__ u64 policy_evict_last() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

}  // namespace tilewright::ptx
