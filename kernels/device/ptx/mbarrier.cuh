// SPDX-License-Identifier: Apache-2.0
#pragma once

// An mbarrier is 8 bytes of shared memory that count arrivals of threads and bytes of copies, phase after phase. A
// phase ends once the count given at init has arrived and no expected byte is missing; the next one begins at once. A
// wait names the parity of a phase: 0 for the first, 1 for the second, 0 for the third… On a fresh mbarrier, a wait for
// parity 1 (the phase before the first) returns at once. sm_90 and later.

#include "device/ptx/address.cuh"

namespace tilewright::ptx {

// One thread calls. fence_mbarrier_init (ptx/fence.cuh) and a barrier must follow before another thread uses the
// mbarrier.
__device__ __forceinline__ void mbarrier_init(u64* barrier, u32 count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

// Call before the memory is reused.
__device__ __forceinline__ void mbarrier_invalidate(u64* barrier) {
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ __forceinline__ void mbarrier_arrive(u64* barrier, u32 count = 1) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

// Arrives at another block's mbarrier, whose address map_shared (ptx/cluster.cuh) gives.
__device__ __forceinline__ void mbarrier_arrive_cluster(u64* barrier, u32 count = 1) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(cluster_address(barrier)),
               "r"(count)
               : "memory");
}

// Makes the current phase also wait for `bytes` bytes of copies.
__device__ __forceinline__ void mbarrier_expect_tx(u64* barrier, u32 bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

// One arrival that also expects `bytes` bytes.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(u64* barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

// Whether the phase with that parity has ended.
__device__ __forceinline__ bool mbarrier_test_wait(u64* barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

// The same, but the hardware may suspend the thread for a while first.
__device__ __forceinline__ bool mbarrier_try_wait(u64* barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

// Waits for the end of the phase with that parity. kCluster also acquires other blocks' writes.
template <bool kCluster = false>
__device__ __forceinline__ void mbarrier_wait(u64* barrier, u32 parity) {
  if constexpr (kCluster) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "again:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
        "@!p bra again;\n}" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
  } else {
    while (!mbarrier_try_wait(barrier, parity)) {
    }
  }
}

}  // namespace tilewright::ptx
