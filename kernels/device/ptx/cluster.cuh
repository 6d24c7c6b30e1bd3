// SPDX-License-Identifier: Apache-2.0
#pragma once

// Clusters: blocks that run together and access each other's shared memory. A block must not end while another may
// still access its memory: end with cluster_sync. sm_90 and later.

#include "device/ptx/address.cuh"

namespace tilewright::ptx {

// This block's rank in its cluster, and the cluster's number of blocks.
__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ u32 cluster_size() {
  u32 size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}

// The barrier of all threads of the cluster, in two halves: writes before the arrive are visible after the wait.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

// Maps `own`, a pointer into this block's dynamic shared memory, to the same place in the block `rank`. The result is a
// generic pointer.
template <class T>
__device__ __forceinline__ T* map_shared(T* own, u32 rank) {
  u64 remote;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(remote) : "l"(own), "r"(rank));
  return reinterpret_cast<T*>(remote);
}

// Accesses to another block's shared memory; faster than through a generic pointer.
__device__ __forceinline__ u32 load_cluster(const u32* remote) {
  u32 value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(cluster_address(remote)) : "memory");
  return value;
}
__device__ __forceinline__ u64 load_cluster(const u64* remote) {
  u64 value;
  asm volatile("ld.shared::cluster.u64 %0, [%1];" : "=l"(value) : "r"(cluster_address(remote)) : "memory");
  return value;
}
__device__ __forceinline__ void store_cluster(u32* remote, u32 value) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(cluster_address(remote)), "r"(value) : "memory");
}
__device__ __forceinline__ void store_cluster(u64* remote, u64 value) {
  asm volatile("st.shared::cluster.u64 [%0], %1;" ::"r"(cluster_address(remote)), "l"(value) : "memory");
}

// st.async: stores and counts the bytes on the mbarrier, both in the same other block, whose threads only wait on the
// mbarrier.
__device__ __forceinline__ void store_async(u32* remote, u32 value, u64* remote_barrier) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(cluster_address(remote)),
      "r"(value), "r"(cluster_address(remote_barrier))
      : "memory");
}
__device__ __forceinline__ void store_async(u64* remote, u64 value, u64* remote_barrier) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];" ::"r"(cluster_address(remote)),
      "l"(value), "r"(cluster_address(remote_barrier))
      : "memory");
}

}  // namespace tilewright::ptx
