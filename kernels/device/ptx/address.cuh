// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared-memory addresses for PTX instructions. The functions of this folder take pointers, as the emulator's do. Not
// for kernels.

#include "device/config.cuh"

namespace tilewright::ptx {

// The address within the block's shared memory; `pointer` must point there.
__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

// The address within the cluster's shared memory, for a pointer into any of its blocks (ptx/cluster.cuh: map_shared).
__device__ __forceinline__ u32 cluster_address(const void* pointer) {
  u64 address;
  asm("cvta.to.shared::cluster.u64 %0, %1;" : "=l"(address) : "l"(pointer));
  return static_cast<u32>(address);
}

}  // namespace tilewright::ptx
