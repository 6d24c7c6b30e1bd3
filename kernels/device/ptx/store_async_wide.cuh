// SPDX-License-Identifier: Apache-2.0
#pragma once

// st.async of 16 bytes (cluster.cuh has 4 and 8): one message between blocks instead of two. sm_90 and later.

#include "device/bits.cuh"
#include "device/ptx/address.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void store_async(Bits128* remote, Bits128 value, u64* remote_barrier) {
  const u32 address = cluster_address(remote), barrier = cluster_address(remote_barrier);
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address),
      "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(barrier)
      : "memory");
}

}  // namespace tilewright::ptx
