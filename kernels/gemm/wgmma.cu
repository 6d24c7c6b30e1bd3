// SPDX-License-Identifier: Apache-2.0
//
// gemm, c = act(a · b + bias) + residual, on Hopper's tensor cores: a producer warp copies tiles of a and b into a ring
// of stages by tensor maps, warpgroups multiply them by wgmma, and c is stored through shared memory. Blocks are
// persistent and take tile after tile. docs/kernels/gemm.md.
//
//   a, b   address and row length are multiples of 16 bytes, in any layout; wgmma_padded.cu pads others
//   c      likewise if tensor_store = 1, and so is residual; any otherwise
//
// The ring's full barriers count the copies' bytes; its empty barriers count the warpgroups that have read a stage, in
// all blocks that the block's copies reach.

#include "device/ptx/cluster.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ptx/mbarrier_relaxed.cuh"
#include "device/ptx/register_count.cuh"
#include "device/ptx/tensor_copy.cuh"
#include "device/ptx/wgmma.cuh"
#include "device/ring.cuh"
#include "device/shared.cuh"
#include "raster.cuh"
#include "split.cuh"
#include "wgmma_geometry.cuh"
#include "wgmma_store.cuh"

namespace tilewright::gemm {

// A block's work, one piece after the other: a tile of c, or a part of its k. Blocks of a cluster have adjacent tiles,
// or all parts of one tile.
template <class Config>
struct Schedule {
  using G = Geometry<Config>;

  struct Work {
    i64 row, column;  // of c
    SplitRange range;
    u32 tile, split;
  };

  u32 tiles_m, tiles_n;  // counted in clusters
  u32 blocks_k;
  u32 clusters;
  u32 next;
  u32 rank_m, rank_n, rank_k;

  __device__ __forceinline__ Schedule(i64 m, i64 n, i64 k, u32 rank)
      : tiles_m(static_cast<u32>(ceil_div(m, i64{G::kBlockM} * G::kClusterM))),
        tiles_n(static_cast<u32>(ceil_div(n, i64{G::kBlockN} * G::kClusterN))),
        blocks_k(static_cast<u32>(ceil_div(k, i64{G::kBlockK}))),
        clusters(gridDim.x / G::kClusterSize),
        next(blockIdx.x / G::kClusterSize),
        rank_m(rank % G::kClusterM),
        rank_n(rank % G::kTilesOfCluster / G::kClusterM),
        rank_k(rank / G::kTilesOfCluster) {}

  __device__ __forceinline__ bool done() const { return next >= tiles_m * tiles_n * (Config::split_k / G::kClusterK); }
  __device__ __forceinline__ void skip(u32 pieces) { next += pieces * clusters; }

  // Concurrent pieces share rows of a and columns of b, and so have the same part of k.
  __device__ __forceinline__ Work work() const {
    const u32 tiles = tiles_m * tiles_n;
    const u32 pass = Config::split_k > G::kClusterK ? next / tiles : 0;
    const u32 split = pass + rank_k;
    const RasterTile at = raster<Config>(next - pass * tiles, tiles_m, tiles_n);
    const u32 row = at.row * G::kClusterM + rank_m, column = at.column * G::kClusterN + rank_n;
    return {i64{row} * G::kBlockM, i64{column} * G::kBlockN, split_range<Config::split_k>(blocks_k, split),
            row * tiles_n * G::kClusterN + column, split};
  }
};

// Copies a tile of kExtent rows (m or n) from `row` and block_k of k from `k` into a stage. Each of kShare blocks that
// need the same tile copies its part to all blocks of `mask`.
template <class Config, bool kTransposed, int kExtent, int kShare>
__device__ __forceinline__ void load_tile(unsigned char* stage, const TensorMap& map, i32 row, i32 k, u64* full,
                                          u32 share, u16 mask) {
  using G = Geometry<Config>;
  const auto load = [&](unsigned char* to, i32 x, i32 y) {
    if constexpr (kShare > 1) {
      ptx::tensor_load_multicast(to, map, x, y, full, mask);
    } else {
      ptx::tensor_load(to, map, x, y, full);
    }
  };
  if constexpr (kTransposed) {
    constexpr int kPart = G::kBlockK / kShare;
    const i32 part = static_cast<i32>(share) * kPart;
#pragma unroll
    for (int i = 0; i < kExtent / G::kRowElements; ++i) {
      load(stage + (i * G::kBlockK + part) * G::kRowBytes, row + i * G::kRowElements, k + part);
    }
  } else {
    constexpr int kPart = kExtent / kShare;
    const i32 part = static_cast<i32>(share) * kPart;
#pragma unroll
    for (int i = 0; i < G::kBlockK / G::kRowElements; ++i) {
      load(stage + (i * kExtent + part) * G::kRowBytes, k + i * G::kRowElements, row + part);
    }
  }
}

// The producer thread: fills the ring, tile after tile.
template <class Config>
__device__ __forceinline__ void produce(typename Geometry<Config>::Storage& storage, const TensorMap& map_a,
                                        const TensorMap& map_b, Schedule<Config> schedule) {
  using G = Geometry<Config>;
  // Blocks in one row of a cluster need the same a, blocks in one column the same b.
  u16 row_mask = 0, column_mask = 0;
#pragma unroll
  for (int i = 0; i < G::kClusterN; ++i) row_mask |= static_cast<u16>(1u << (schedule.rank_m + i * G::kClusterM));
#pragma unroll
  for (int i = 0; i < G::kClusterM; ++i) column_mask |= static_cast<u16>(1u << (schedule.rank_n * G::kClusterM + i));

  // Wait for gemm_pad, which may still be writing the operands.
  if constexpr (Config::implementation == "wgmma_padded") ptx::grid_dependency_wait();
  Ring<G::kStages> ring;
  for (; !schedule.done(); schedule.skip(1)) {
    const auto work = schedule.work();
    for (u32 block = 0; block < work.range.count; ++block, ring.advance()) {
      const i32 k = static_cast<i32>(work.range.first + block) * G::kBlockK;
      u64* const full = &storage.full[ring.stage];
      ptx::mbarrier_wait(&storage.empty[ring.stage], ring.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full, G::kStageBytes);
      load_tile<Config, G::kTransposedA, G::kBlockM, G::kClusterN>(
          storage.a[ring.stage], map_a, static_cast<i32>(work.row), k, full, schedule.rank_n, row_mask);
      load_tile<Config, G::kTransposedB, G::kBlockN, G::kClusterM>(
          storage.b[ring.stage], map_b, static_cast<i32>(work.column), k, full, schedule.rank_m, column_mask);
    }
  }
}

// A warpgroup's part of the products of one tile.
template <class Config>
struct Multiplier {
  using G = Geometry<Config>;
  using T = typename G::T;
  using Storage = typename G::Storage;

  Storage& storage;
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
    constexpr u32 kPartOfK = G::kBlockK * G::kRowBytes;  // 128 bytes of m or n, transposed, for all of k
    const u64 tile_a = ptx::matrix_descriptor(storage.a[stage] + offset_a(), kPartOfK, kEightRows);
    const u64 tile_b = ptx::matrix_descriptor(storage.b[stage], kPartOfK, kEightRows);
#pragma unroll
    for (int step = 0; step < G::kSteps; ++step) {
#pragma unroll
      for (int slab = 0; slab < G::kSlabs; ++slab) {
        const u64 a = ptx::advance(tile_a, offset<G::kTransposedA>(step, slab, G::kBlockM));
        const u64 b = ptx::advance(tile_b, offset<G::kTransposedB>(step, 0, G::kBlockN));
        ptx::wgmma<T, G::kBlockN, G::kTransposedA, G::kTransposedB>(sums[slab], a, b, accumulate || step > 0);
      }
    }
  }

  // Bytes from a tile's first step of k and slab of rows to the given ones.
  template <bool kTransposed>
  __device__ static constexpr u32 offset(int step, int slab, int extent) {
    constexpr int kStepsOfRow = G::kRowElements / G::kStepElements;
    if constexpr (kTransposed) {
      return static_cast<u32>((slab * G::kBlockK + step * G::kStepElements) * G::kRowBytes);
    } else {
      const int part = step / kStepsOfRow;
      return static_cast<u32>((part * extent + slab * G::kSlabRows) * G::kRowBytes +
                              step % kStepsOfRow * G::kStepElements * static_cast<int>(sizeof(T)));
    }
  }
  __device__ __forceinline__ int offset_a() const {
    return G::kTransposedA ? row / G::kSlabRows * G::kBlockK * G::kRowBytes : row * G::kRowBytes;
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

// Adds a warpgroup's sums over the parts of k that the cluster's blocks have; true in the block that has the result.
// All threads of the cluster meet here once.
template <class Config>
__device__ __forceinline__ bool gather(float (&sums)[Geometry<Config>::kSlabs][Geometry<Config>::kSums],
                                       typename Geometry<Config>::Storage& storage, u32 rank_k, int warpgroup,
                                       int thread) {
  using G = Geometry<Config>;
  constexpr int kFour = 4;
  const int own = warpgroup * G::kWarpgroupRows * G::kBlockN + thread * kFour;
  const auto each_four = [&](float* part, const auto& visit) {
#pragma unroll
    for (int slab = 0; slab < G::kSlabs; ++slab) {
#pragma unroll
      for (int i = 0; i < G::kSums; i += kFour) {
        visit(&sums[slab][i], part + own + (slab * G::kSums + i) * G::kWarpgroup);
      }
    }
  };
  if (rank_k > 0) {
    each_four(ptx::map_shared(storage.parts[rank_k - 1], 0), [](const float* from, float* to) {
      store_vector(to, Vector<float, kFour>{from[0], from[1], from[2], from[3]});
    });
  }
  ptx::cluster_sync();
  if (rank_k > 0) return false;
  for (int other = 0; other < G::kClusterK - 1; ++other) {
    each_four(storage.parts[other], [](float* to, const float* from) {
      const auto four = load_vector<kFour>(from);
#pragma unroll
      for (int j = 0; j < kFour; ++j) to[j] += four[j];
    });
  }
  return true;
}

// A consumer warpgroup: multiplies and stores, tile after tile.
template <class Config>
__device__ __forceinline__ void consume(typename Geometry<Config>::Storage& storage, TileStore<Config> out,
                                        Schedule<Config> schedule, float* partials, u32* counters) {
  using G = Geometry<Config>;
  constexpr u32 kTurn = 1 + G::kConsumers;  // the first named barrier after those of the stores
  constexpr u32 kBoth = 2 * G::kWarpgroup;
  const u32 own = static_cast<u32>(out.warpgroup);
  const u32 of_tile = G::kPingPong ? 0 : own;  // the warpgroup's number in its tile
  const i64 first_row = of_tile * G::kWarpgroupRows;
  const int thread = out.warp * kWarpSize + out.lane;
  const Multiplier<Config> multiplier{storage, static_cast<int>(first_row), thread, schedule.rank_m, schedule.rank_n};
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
    typename TileStore<Config>::Ahead ahead;
    out.prefetch(ahead, row, work.column);
    if constexpr (G::kPingPong) ptx::barrier_sync(kTurn + own, kBoth);
    multiplier.multiply(sums, ring, work.range.count, [&] {
      if constexpr (G::kPingPong) ptx::barrier_arrive(kTurn + 1 - own, kBoth);
      out.load(storage, ahead, row, work.column);
    });
    bool has_sums;
    if constexpr (G::kClusterK > 1) {
      has_sums = gather<Config>(sums, storage, schedule.rank_k, out.warpgroup, thread);
    } else {
      has_sums = Split<Config::split_k, G::kWarpgroup>::sum_up(sums, partials, counters,
                                                               work.tile * G::kUsersOfStage + of_tile, work.split,
                                                               thread, &storage.last[own], [&] { out.sync(); });
    }
    if (has_sums) out.store(storage, sums, ahead, row, work.column);
    schedule.skip(1);
    if (G::kPingPong && !schedule.done()) leave_to_other();
  }
  out.drain();
}

template <class Config>
__device__ __forceinline__ void run(const TensorMap& map_a, const TensorMap& map_b, const TensorMap& map_c,
                                    const typename Config::dtype* bias, const typename Config::dtype* residual,
                                    typename Config::dtype* c, float* partials, u32* counters, i64 m, i64 n, i64 k) {
  using G = Geometry<Config>;
  auto& storage = *shared_storage<typename G::Storage>();
  const u32 rank = G::kClusterSize > 1 ? ptx::cluster_rank() : 0;
  const int thread = static_cast<int>(threadIdx.x);
  // The shuffle tells the compiler that all lanes have the same value.
  const int warpgroup = __shfl_sync(kFullMask, thread / G::kWarpgroup, 0);

  // Initialise the ring's barriers.
  if (thread == 0) {
    ptx::prefetch_map(map_a);
    ptx::prefetch_map(map_b);
    if constexpr (Config::tensor_store) ptx::prefetch_map(map_c);
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

  const Schedule<Config> schedule(m, n, k, rank);
  if (warpgroup == 0) {
    if constexpr (G::kConsumers > 1) ptx::release_registers<G::kProducerRegisters>();
    if (thread == 0) produce<Config>(storage, map_a, map_b, schedule);
    __syncwarp();
    if constexpr (G::kClusterK > 1) ptx::cluster_sync();  // pairs with that of gather()
  } else {
    if constexpr (G::kConsumers > 1) ptx::acquire_registers<G::kConsumerRegisters>();
    const TileStore<Config> out{
        map_c, bias, residual, c, m, n, warpgroup - 1, thread % G::kWarpgroup / kWarpSize, thread % kWarpSize};
    consume<Config>(storage, out, schedule, partials, counters);
  }
  // No block ends while others copy to it or arrive at its barriers.
  if constexpr (G::kClusterSize > 1) ptx::cluster_sync();
}

}  // namespace tilewright::gemm

// tensor_store = 1.
template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::Geometry<Config>::kThreads, 1)
    gemm_wgmma(const __grid_constant__ tilewright::TensorMap map_a, const __grid_constant__ tilewright::TensorMap map_b,
               const __grid_constant__ tilewright::TensorMap map_c, const typename Config::dtype* bias,
               const typename Config::dtype* residual, typename Config::dtype* c, float* partials, unsigned* counters,
               long long m, long long n, long long k) {
  tilewright::gemm::run<Config>(map_a, map_b, map_c, bias, residual, c, partials, counters, m, n, k);
}

// tensor_store = 0: c has any row length, so no tensor map describes it.
template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::Geometry<Config>::kThreads, 1)
    gemm_wgmma_any(const __grid_constant__ tilewright::TensorMap map_a,
                   const __grid_constant__ tilewright::TensorMap map_b, const typename Config::dtype* bias,
                   const typename Config::dtype* residual, typename Config::dtype* c, float* partials,
                   unsigned* counters, long long m, long long n, long long k) {
  tilewright::gemm::run<Config>(map_a, map_b, map_a, bias, residual, c, partials, counters, m, n, k);
}
