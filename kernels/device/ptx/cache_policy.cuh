// SPDX-License-Identifier: Apache-2.0
#pragma once

// L2 eviction policies for the accesses `..._with_policy`. They take no argument, so the compiler creates each once and
// keeps it in a register.

#include "device/config.cuh"

namespace tilewright::ptx {

// For data that will not be read again: first to leave L2.
__device__ __forceinline__ u64 policy_evict_first() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// For data that this kernel or the next reads again: last to leave L2.
__device__ __forceinline__ u64 policy_evict_last() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

}  // namespace tilewright::ptx
