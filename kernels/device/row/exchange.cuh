// SPDX-License-Identifier: Apache-2.0
#pragma once

// Exchange of a row's partials between the warps of a block or a cluster: send(partial, row), other work, then
// receive(row), which returns the merged partial to each thread. Rows are numbered from 0.
//
// Within a block partials go through shared memory and __syncthreads. In a cluster each block stores its partial into
// the shared memory of all blocks, where an mbarrier counts the bytes. A block that has received from all may end:
// nothing is in flight to it.
//
// Rows use kRing slots in turn. 4 suffice if send(row + 1) precedes receive(row): the sender of row + 4 has received
// row + 2, which this block sent after it had received `row`.

#include "device/config.cuh"
#include "device/ptx/cluster.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/row/statistics.cuh"

namespace tilewright::row {

template <class Statistics, int kWarps, int kCluster, int kRing>
class Exchange {
 public:
  using Partial = typename Statistics::Partial;
  struct Storage {
    alignas(8) Partial warps[kRing][kWarps];
    Partial blocks[kRing][kCluster];
    u64 arrived[kRing];
  };
  static_assert(sizeof(Partial) % sizeof(u64) == 0, "partials travel by 8 bytes");

  __device__ __forceinline__ explicit Exchange(Storage& storage) : storage_(storage), met_(false) {}

  // One thread calls, before the fence and the barrier that publish the mbarriers.
  __device__ __forceinline__ void init() {
    if constexpr (kCluster > 1) {
#pragma unroll
      for (int slot = 0; slot < kRing; ++slot) ptx::mbarrier_init(&storage_.arrived[slot], 1);
    }
  }

  // All threads call, after that barrier. Work before the first send hides the wait for the other blocks.
  __device__ __forceinline__ void prepare() {
    if constexpr (kCluster > 1) ptx::cluster_arrive();
  }

  // All threads call; `mine` is the warp's partial.
  __device__ __forceinline__ void send(const Partial& mine, i64 row) {
    const int slot = static_cast<int>(row % kRing);
    if constexpr (kWarps > 1 || kCluster == 1) {
      if (threadIdx.x % kWarpSize == 0) storage_.warps[slot][threadIdx.x / kWarpSize] = mine;
      __syncthreads();
    }
    if constexpr (kCluster > 1) {
      if (!met_) ptx::cluster_wait();
      met_ = true;
      const Partial block = kWarps > 1 ? over_slots<Statistics, kWarps>(storage_.warps[slot]) : mine;
      if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(&storage_.arrived[slot], static_cast<u32>(sizeof(storage_.blocks[slot])));
      }
      if (threadIdx.x < kCluster) tell(block, threadIdx.x, slot);
    }
  }

  __device__ __forceinline__ Partial receive(i64 row) {
    const int slot = static_cast<int>(row % kRing);
    if constexpr (kCluster > 1) {
      ptx::mbarrier_wait<true>(&storage_.arrived[slot], static_cast<u32>(row / kRing) & 1);
      return over_slots<Statistics, kCluster>(storage_.blocks[slot]);
    } else {
      return over_slots<Statistics, kWarps>(storage_.warps[slot]);
    }
  }

 private:
  struct Words {
    u64 words[sizeof(Partial) / sizeof(u64)];
  };

  __device__ __forceinline__ void tell(const Partial& block, u32 rank, int slot) {
    auto* const own = reinterpret_cast<u64*>(&storage_.blocks[slot][ptx::cluster_rank()]);
    u64* const arrived = ptx::map_shared(&storage_.arrived[slot], rank);
    const auto words = __builtin_bit_cast(Words, block);
#pragma unroll
    for (int w = 0; w < static_cast<int>(sizeof(Partial) / sizeof(u64)); ++w) {
      ptx::store_async(ptx::map_shared(own + w, rank), words.words[w], arrived);
    }
  }

  Storage& storage_;
  bool met_;  // whether all blocks of the cluster are known to run
};

}  // namespace tilewright::row
