// SPDX-License-Identifier: Apache-2.0
#pragma once

// The block of wgmma.cu for ops around a gemm: Linear<Config>, with c stored by tensor copies. The op supplies a class
// for each part that differs:
//
//   load_b(stage, column, k, full, share, mask)   starts the copies of a tile of b, as load_tile does
//   tail.prefetch(ahead, row, column)             before a tile's products: prefetches their addends (Tail::Ahead)
//   tail.load(storage, ahead, row, column)        after all products are issued: loads the addends
//   tail.store(storage, sums, ahead, row, column) stores the results of a warpgroup's rows
//   tail.sync(), tail.drain()                     as in TileStore
//
// Rows and columns are those of the sums.

#include "config.cuh"
#include "gemm/wgmma.cu"

namespace tilewright::gemm {

template <class Config>
struct LinearByMap : Linear<Config> {
  static constexpr int tensor_store = 1;
};

template <class Config>
struct Geometry<Plain<Config>> : Geometry<Config> {};

// Copies a tile of b as it is.
template <class Config>
struct PlainLoad {
  using G = Geometry<Config>;
  const TensorMap& map;

  __device__ __forceinline__ void operator()(unsigned char* stage, i32 column, i32 k, u64* full, u32 share,
                                             u16 mask) const {
    load_tile<Config, false, G::kBlockN, G::kClusterM>(stage, map, column, k, full, share, mask);
  }
};

// The producer thread: fills the ring, tile after tile.
template <class Config, class LoadB>
__device__ __forceinline__ void produce_with(typename Geometry<Config>::Storage& storage, const TensorMap& map_a,
                                             const LoadB& load_b, Schedule<Config> schedule) {
  using G = Geometry<Config>;
  u16 row_mask = 0, column_mask = 0;
#pragma unroll
  for (int i = 0; i < G::kClusterN; ++i) row_mask |= static_cast<u16>(1u << (schedule.rank_m + i * G::kClusterM));
#pragma unroll
  for (int i = 0; i < G::kClusterM; ++i) column_mask |= static_cast<u16>(1u << (schedule.rank_n * G::kClusterM + i));
  Ring<G::kStages> ring;
  for (; !schedule.done(); schedule.skip(1)) {
    const auto work = schedule.work();
    for (u32 block = 0; block < work.range.count; ++block, ring.advance()) {
      const i32 k = static_cast<i32>(work.range.first + block) * G::kBlockK;
      u64* const full = &storage.full[ring.stage];
      ptx::mbarrier_wait(&storage.empty[ring.stage], ring.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full, G::kStageBytes);
      load_tile<Config, false, G::kBlockM, G::kClusterN>(storage.a[ring.stage], map_a, static_cast<i32>(work.row), k,
                                                         full, schedule.rank_n, row_mask);
      load_b(storage.b[ring.stage], static_cast<i32>(work.column), k, full, schedule.rank_m, column_mask);
    }
  }
}

// A warpgroup's part of the products of one tile.
template <class Config>
struct LinearMultiplier {
  using G = Geometry<Config>;

  typename G::Storage& storage;
  int row;     // the warpgroup's first in the tile
  int thread;  // in the warpgroup
  u32 rank_m, rank_n;

  // Calls `issued` once the tensor cores have all the work of the tile.
  template <class Issued>
  __device__ __forceinline__ void multiply(float (&sums)[G::kSlabs][G::kSums], Ring<G::kStages>& ring, u32 blocks_k,
                                           const Issued& issued) const {
    u32 previous = 0;
    for (u32 block = 0; block < blocks_k; ++block) {
      ptx::mbarrier_wait(&storage.full[ring.stage], ring.parity);
      ptx::wgmma_fence();
      multiply_stage(sums, ring.stage, block > 0);
      ptx::wgmma_commit();
      // Release the previous stage once its products have read it.
      ptx::wgmma_wait<1>();
      if (block > 0) release(previous);
      previous = ring.stage;
      ring.advance();
    }
    issued();
    ptx::wgmma_wait<0>();
    release(previous);
  }

 private:
  __device__ __forceinline__ void multiply_stage(float (&sums)[G::kSlabs][G::kSums], u32 stage, bool accumulate) const {
    constexpr u32 kEightRows = 8 * G::kRowBytes;
    constexpr u32 kPartOfK = G::kBlockK * G::kRowBytes;
    const u64 tile_a = ptx::matrix_descriptor(storage.a[stage] + row * G::kRowBytes, kPartOfK, kEightRows);
    const u64 tile_b = ptx::matrix_descriptor(storage.b[stage], kPartOfK, kEightRows);
#pragma unroll
    for (int step = 0; step < G::kSteps; ++step) {
#pragma unroll
      for (int slab = 0; slab < G::kSlabs; ++slab) {
        const u64 a = ptx::advance(tile_a, static_cast<u32>(slab * G::kSlabRows * G::kRowBytes + step * 32));
        const u64 b = ptx::advance(tile_b, static_cast<u32>(step * 32));
        ptx::wgmma<typename G::T, G::kBlockN, false, false>(sums[slab], a, b, accumulate || step > 0);
      }
    }
  }

  // Arrives at the empty barriers of all blocks that copy into this block's stage, one thread each.
  __device__ __forceinline__ void release(u32 stage) const {
    if constexpr (G::kTilesOfCluster == 1) {
      if (thread == 0) ptx::mbarrier_arrive(&storage.empty[stage]);
    } else if (thread < G::kTilesOfCluster) {
      const u32 rank = static_cast<u32>(thread);
      if (rank % G::kClusterM == rank_m || rank / G::kClusterM == rank_n) {
        ptx::mbarrier_arrive_cluster_relaxed(ptx::map_shared(&storage.empty[stage], rank));
      }
    }
  }
};

// A consumer warpgroup: multiplies and stores, tile after tile.
template <class Config, class Tail>
__device__ __forceinline__ void consume_with(typename Geometry<Config>::Storage& storage, const Tail& tail,
                                             Schedule<Config> schedule, float* partials, u32* counters, u32 own,
                                             int thread) {
  using G = Geometry<Config>;
  constexpr u32 kTurn = 1 + G::kConsumers;  // the first named barrier after those of the stores
  constexpr u32 kBoth = 2 * G::kWarpgroup;
  const u32 of_tile = G::kPingPong ? 0 : own;  // the warpgroup's number in its tile
  const i64 first_row = of_tile * G::kWarpgroupRows;
  const LinearMultiplier<Config> multiplier{storage, static_cast<int>(first_row), thread, schedule.rank_m,
                                            schedule.rank_n};
  Ring<G::kStages> ring;
  const auto leave_to_other = [&] {
    ring.advance(schedule.work().range.count);
    schedule.skip(1);
  };
  if constexpr (G::kPingPong) {
    // The second warpgroup takes the second tile; the first has the tensor cores first.
    if (own == 1) {
      if (!schedule.done()) leave_to_other();
      ptx::barrier_arrive(kTurn, kBoth);
    }
  }
  while (!schedule.done()) {
    const auto work = schedule.work();
    const i64 row = work.row + first_row;
    float sums[G::kSlabs][G::kSums];
    typename Tail::Ahead ahead;
    tail.prefetch(ahead, row, work.column);
    if constexpr (G::kPingPong) ptx::barrier_sync(kTurn + own, kBoth);
    multiplier.multiply(sums, ring, work.range.count, [&] {
      if constexpr (G::kPingPong) ptx::barrier_arrive(kTurn + 1 - own, kBoth);
      tail.load(storage, ahead, row, work.column);
    });
    bool has_sums;
    if constexpr (G::kClusterK > 1) {
      has_sums = gather<Config>(sums, storage, schedule.rank_k, static_cast<int>(own), thread);
    } else {
      has_sums = Split<Config::split_k, G::kWarpgroup>::sum_up(sums, partials, counters,
                                                               work.tile * G::kUsersOfStage + of_tile, work.split,
                                                               thread, &storage.last[own], [&] { tail.sync(); });
    }
    if (has_sums) tail.store(storage, sums, ahead, row, work.column);
    schedule.skip(1);
    if (G::kPingPong && !schedule.done()) leave_to_other();
  }
  tail.drain();
}

// `make_tail(warpgroup, warp, lane)` makes a thread's tail.
template <class Config, class LoadB, class MakeTail>
__device__ __forceinline__ void run_with(const TensorMap& map_a, const LoadB& load_b, const MakeTail& make_tail,
                                         float* partials, u32* counters, i64 m, i64 rows_b, i64 k) {
  using G = Geometry<Config>;
  auto& storage = *shared_storage<typename G::Storage>();
  const u32 rank = G::kClusterSize > 1 ? ptx::cluster_rank() : 0;
  const int thread = static_cast<int>(threadIdx.x);
  // The shuffle tells the compiler that all lanes have the same value.
  const int warpgroup = __shfl_sync(kFullMask, thread / G::kWarpgroup, 0);

  // Initialise the ring's barriers.
  if (thread == 0) {
    for (int stage = 0; stage < G::kStages; ++stage) {
      ptx::mbarrier_init(&storage.full[stage], 1);
      ptx::mbarrier_init(&storage.empty[stage], G::kUsersOfStage * G::kReach);
    }
    ptx::fence_mbarrier_init();
  }
  if constexpr (G::kClusterSize > 1) {
    ptx::cluster_sync();
  } else {
    __syncthreads();
  }

  const Schedule<Config> schedule(m, rows_b, k, rank);
  if (warpgroup == 0) {
    if constexpr (G::kConsumers > 1) ptx::release_registers<G::kProducerRegisters>();
    if (thread == 0) produce_with<Config>(storage, map_a, load_b, schedule);
    __syncwarp();
    if constexpr (G::kClusterK > 1) ptx::cluster_sync();  // pairs with that of gather()
  } else {
    if constexpr (G::kConsumers > 1) ptx::acquire_registers<G::kConsumerRegisters>();
    const int of_warpgroup = thread % G::kWarpgroup;
    consume_with<Config>(storage, make_tail(warpgroup - 1, of_warpgroup / kWarpSize, thread % kWarpSize), schedule,
                         partials, counters, static_cast<u32>(warpgroup - 1), of_warpgroup);
  }
  // No block ends while others copy to it or arrive at its barriers.
  if constexpr (G::kClusterSize > 1) ptx::cluster_sync();
}

}  // namespace tilewright::gemm
