// SPDX-License-Identifier: Apache-2.0
#pragma once

// The end of a tile whose k is shared by the blocks of a cluster (parts > 1). Each block writes its sums to its own
// shared memory, over its ring. Then each adds and stores a share of the tile's columns, over the parts in the order of
// k.

#include "device/ptx/barrier.cuh"
#include "device/ptx/cluster.cuh"
#include "device/vector.cuh"
#include "stream_geometry.cuh"
#include "stream_store.cuh"

namespace tilewright::gemm {

template <class Config>
struct StreamShare {
  using G = StreamGeometry<Config>;
  enum : int {
    kFour = 4,
    kAtOnce = 8,
    kGroups = G::kSums / kFour,  // of a slab: 8 columns each
    kShareGroups = (kGroups + G::kParts - 1) / G::kParts,
    kShareColumns = kShareGroups * 8,
    kSumsBytes = G::kConsumers * G::kWarpgroup * G::kSlabs * G::kSums * 4,
    kRingBytes = G::kStages * (G::kBytesRows + G::kBytesColumns),
  };
  static_assert(G::kSwap, "columns end where m does");
  static_assert(kSumsBytes <= kRingBytes, "sums lie where the ring was");

  // A warpgroup's share as a tile.
  struct Narrow : Config {
    static constexpr int block_n = kShareColumns * (G::kHalves ? G::kConsumers : 1);
    static constexpr int cluster_m = 1;
  };

  // All consumer threads call together, and all threads of the cluster meet once. The sums are of the rows from `row`
  // and the columns from `column`.
  __device__ static __forceinline__ void store(typename G::Storage& storage, const StreamStore<Config>& out,
                                               const float (&sums)[G::kSlabs][G::kSums], u32 part, i64 row,
                                               i64 column) {
    constexpr u32 kBoth = G::kConsumers * G::kWarpgroup;
    constexpr u32 kBarrier = 1 + G::kConsumers;
    float* const own = reinterpret_cast<float*>(&storage) + out.warpgroup * (G::kWarpgroup * G::kSlabs * G::kSums) +
                       out.thread() * kFour;
    // Wait until both warpgroups have multiplied the ring's stages.
    ptx::barrier_sync(kBarrier, kBoth);
#pragma unroll
    for (int slab = 0; slab < G::kSlabs; ++slab) {
#pragma unroll
      for (int i = 0; i < G::kSums; i += kFour) {
        store_vector(own + (slab * G::kSums + i) * G::kWarpgroup,
                     Vector<float, kFour>{sums[slab][i], sums[slab][i + 1], sums[slab][i + 2], sums[slab][i + 3]});
      }
    }
    ptx::cluster_sync();
    const int first = static_cast<int>(part) * kShareGroups;
    if (first >= kGroups) return;
    float share[G::kSlabs][kShareGroups * kFour];
    const u32 rank_of_tile = ptx::cluster_rank() % G::kTilesOfCluster;
#pragma unroll
    for (int other = 0; other < G::kParts; ++other) {
      const float* const from = ptx::map_shared(own, rank_of_tile + static_cast<u32>(other) * G::kTilesOfCluster);
#pragma unroll
      for (int slab = 0; slab < G::kSlabs; ++slab) {
#pragma unroll
        for (int group = 0; group < kShareGroups; ++group) {
          // The barriers bound the loads in flight: all at once would take registers that many sums do not leave.
          if ((slab * kShareGroups + group) % kAtOnce == 0) __syncwarp();
          // The last share may be short: its surplus is not stored.
          const int at = first + group < kGroups ? first + group : first;
          const auto four = load_vector<kFour>(from + (slab * G::kSums + at * kFour) * G::kWarpgroup);
#pragma unroll
          for (int j = 0; j < kFour; ++j) {
            float& sum = share[slab][group * kFour + j];
            sum = other == 0 ? four[j] : sum + four[j];
          }
        }
      }
    }
    const i64 end = column + G::kWarpgroupColumns;
    const StreamStore<Narrow> narrow{out.map, out.bias,      out.residual, out.c,   end < out.m ? end : out.m,
                                     out.n,   out.warpgroup, out.warp,     out.lane};
    narrow.store(storage.c[out.warpgroup], share, row, column + first * 8);
  }
};

}  // namespace tilewright::gemm
