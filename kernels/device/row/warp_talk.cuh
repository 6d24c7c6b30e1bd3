// SPDX-License-Identifier: Apache-2.0
#pragma once

// The exchange of a row's partials between the warps of a cluster, without a block barrier: send(partial, row), other
// work, then receive(row), which gives each thread the merged partial. Each warp stores its partial into the shared
// memory of all blocks, where an mbarrier counts the bytes. Rows are numbered from 0. A block that has received from
// all may end: nothing is in flight to it.
//
// Rows use four slots in turn, which suffice if a warp sends at most one row before it receives the last
// (exchange.cuh).

#include "device/config.cuh"
#include "device/ptx/cluster.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/row/evenly.cuh"

namespace tilewright::row {

template <class Statistics, int kWarps, int kCluster>
class WarpTalk {
 public:
  using Partial = typename Statistics::Partial;
  enum : int { kRing = 4, kAll = kWarps * kCluster };
  struct Storage {
    alignas(16) Partial warps[kRing][kAll];
    u64 arrived[kRing];
  };
  static_assert(sizeof(Partial) % sizeof(u64) == 0, "partials travel by 8 bytes");

  __device__ __forceinline__ explicit WarpTalk(Storage& storage) : storage_(storage), met_(false) {}

  // One thread calls, before the fence and the barrier that publish the mbarriers.
  __device__ __forceinline__ void init() {
#pragma unroll
    for (int slot = 0; slot < kRing; ++slot) ptx::mbarrier_init(&storage_.arrived[slot], 1);
  }

  // All threads call, after that barrier. Work before the first send hides the wait for the other blocks.
  __device__ __forceinline__ void prepare() { ptx::cluster_arrive(); }

  // All threads call; `mine` is the warp's partial.
  __device__ __forceinline__ void send(const Partial& mine, i64 row) {
    const int slot = static_cast<int>(row % kRing);
    if (!met_) ptx::cluster_wait();
    met_ = true;
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(&storage_.arrived[slot], static_cast<u32>(sizeof(storage_.warps[slot])));
    }
    const u32 lane = threadIdx.x % kWarpSize;
    if (lane < kCluster) {
      auto* const own =
          reinterpret_cast<u64*>(&storage_.warps[slot][ptx::cluster_rank() * kWarps + threadIdx.x / kWarpSize]);
      u64* const arrived = ptx::map_shared(&storage_.arrived[slot], lane);
      const auto words = __builtin_bit_cast(Words, mine);
#pragma unroll
      for (int w = 0; w < static_cast<int>(sizeof(Partial) / sizeof(u64)); ++w) {
        ptx::store_async(ptx::map_shared(own + w, lane), words.words[w], arrived);
      }
    }
  }

  __device__ __forceinline__ Partial receive(i64 row) {
    const int slot = static_cast<int>(row % kRing);
    ptx::mbarrier_wait<true>(&storage_.arrived[slot], static_cast<u32>(row / kRing) & 1);
    constexpr int kLanes = kAll < kWarpSize ? kAll : kWarpSize;
    const Partial* const from = storage_.warps[slot] + threadIdx.x % kLanes;
    Partial partial = from[0];
#pragma unroll
    for (int i = kLanes; i < kAll; i += kLanes) partial = EvenlyOf<Statistics>::merged(partial, from[i]);
    return Statistics::template over_lanes<kLanes>(partial);
  }

 private:
  struct Words {
    u64 words[sizeof(Partial) / sizeof(u64)];
  };

  Storage& storage_;
  bool met_;  // whether all blocks of the cluster are known to run
};

}  // namespace tilewright::row
