// SPDX-License-Identifier: Apache-2.0
//
// gemm, c = act(a · b + bias) + residual, on Hopper's tensor cores for extents that no large tile divides. It differs
// from wgmma.cu: tiles are as wide as any multiple of 8, along m or n; the last stage multiplies only the steps that k
// has; and tiles that would leave the last wave short are cut along k (stream_schedule.cuh), or shared by a cluster
// (stream_share.cuh). docs/kernels/gemm.md.
//
//   a, b, c    address and row length are multiples of 16 bytes; layout nt, 16-bit elements
//   residual   aligned to two elements

#include "device/ptx/cluster.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ptx/mbarrier_relaxed.cuh"
#include "device/ptx/register_count.cuh"
#include "device/ptx/tensor_copy.cuh"
#include "device/ptx/wgmma.cuh"
#include "device/ptx/wgmma_steps.cuh"
#include "device/ring.cuh"
#include "device/shared.cuh"
#include "stream_geometry.cuh"
#include "stream_schedule.cuh"
#include "stream_share.cuh"
#include "stream_store.cuh"

namespace tilewright::gemm {

// Copies kExtent rows from `row`, 64 of k from `k`, into a stage. Each of kShare blocks that need the same rows copies
// its part, of kPart rows, to all blocks of `mask`.
template <class Config, int kExtent, int kPart, int kShare>
__device__ __forceinline__ void stream_load(unsigned char* stage, const TensorMap& map, i32 row, i32 k, u64* full,
                                            u32 share, u16 mask) {
  using G = StreamGeometry<Config>;
  const i32 next = static_cast<i32>(share) * kPart;
  const i32 part = next < kExtent - kPart ? next : kExtent - kPart;
  unsigned char* const to = stage + part * G::kRowBytes;
  if constexpr (kShare > 1) {
    ptx::tensor_load_multicast(to, map, k, row + part, full, mask);
  } else {
    ptx::tensor_load(to, map, k, row + part, full);
  }
}

// The producer thread: fills the ring, piece after piece.
template <class Config>
__device__ __forceinline__ void stream_produce(typename StreamGeometry<Config>::Storage& storage,
                                               const TensorMap& map_rows, const TensorMap& map_columns,
                                               StreamSchedule<Config> schedule) {
  using G = StreamGeometry<Config>;
  const u32 first_rank = schedule.rank_part * G::kTilesOfCluster;
  u16 row_mask = 0, column_mask = 0;
#pragma unroll
  for (int i = 0; i < G::kClusterColumns; ++i) {
    row_mask |= static_cast<u16>(1u << (first_rank + schedule.rank_rows + i * G::kClusterRows));
  }
#pragma unroll
  for (int i = 0; i < G::kClusterRows; ++i) {
    column_mask |= static_cast<u16>(1u << (first_rank + schedule.rank_columns * G::kClusterRows + i));
  }
  Ring<G::kStages> ring;
  for (; !schedule.done(); schedule.skip()) {
    const auto work = schedule.work();
    for (u32 block = 0; block < work.count; ++block, ring.advance()) {
      const i32 k = static_cast<i32>(work.first + block) * G::kBlockK;
      u64* const full = &storage.full[ring.stage];
      ptx::mbarrier_wait(&storage.empty[ring.stage], ring.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full, G::kArrivingBytes);
      stream_load<Config, G::kRows, G::kPartRows, G::kClusterColumns>(
          storage.rows[ring.stage], map_rows, static_cast<i32>(work.row), k, full, schedule.rank_columns, row_mask);
      stream_load<Config, G::kColumns, G::kPartColumns, G::kClusterRows>(storage.columns[ring.stage], map_columns,
                                                                         static_cast<i32>(work.column), k, full,
                                                                         schedule.rank_rows, column_mask);
    }
  }
}

// A warpgroup's part of the products of one piece.
template <class Config>
struct StreamMultiplier {
  using G = StreamGeometry<Config>;
  using T = typename G::T;
  using Storage = typename G::Storage;

  Storage& storage;
  int row, column;  // the warpgroup's first in the tile
  int thread;       // in the warpgroup
  u32 rank_rows, rank_columns, rank_part;

  // The last of `blocks` has `last_steps` steps. Calls `issued` once the tensor cores have all the work.
  template <class Issued>
  __device__ __forceinline__ void multiply(float (&sums)[G::kSlabs][G::kSums], Ring<G::kStages>& ring, u32 blocks,
                                           u32 last_steps, const Issued& issued) const {
    const u32 whole = last_steps == G::kSteps ? blocks : blocks - 1;
    u32 previous = 0;
    for (u32 block = 0; block < whole; ++block) {
      ptx::mbarrier_wait(&storage.full[ring.stage], ring.parity);
      ptx::wgmma_fence();
#pragma unroll
      for (int step = 0; step < G::kSteps; ++step) multiply_step(sums, ring.stage, step, block > 0 || step > 0);
      ptx::wgmma_commit();
      // Release the previous stage once its products have read it.
      ptx::wgmma_wait<1>();
      if (block > 0) release(previous);
      previous = ring.stage;
      ring.advance();
    }
    if (whole < blocks) {
      ptx::mbarrier_wait(&storage.full[ring.stage], ring.parity);
      ptx::wgmma_fence();
#pragma unroll 1
      for (u32 step = 0; step < last_steps; ++step) {
        multiply_step(sums, ring.stage, static_cast<int>(step), whole > 0 || step > 0);
      }
      ptx::wgmma_commit();
      ptx::wgmma_wait<1>();
      if (whole > 0) release(previous);
      previous = ring.stage;
      ring.advance();
    }
    issued();
    ptx::wgmma_wait<0>();
    release(previous);
  }

 private:
  __device__ __forceinline__ void multiply_step(float (&sums)[G::kSlabs][G::kSums], u32 stage, int step,
                                                bool accumulate) const {
    constexpr u32 kEightRows = 8 * G::kRowBytes;
    constexpr u32 kStepBytes = 32;
    const u64 rows = ptx::advance(ptx::matrix_descriptor(storage.rows[stage] + row * G::kRowBytes, 0, kEightRows),
                                  static_cast<u32>(step) * kStepBytes);
    const u64 columns =
        ptx::advance(ptx::matrix_descriptor(storage.columns[stage] + column * G::kRowBytes, 0, kEightRows),
                     static_cast<u32>(step) * kStepBytes);
#pragma unroll
    for (int slab = 0; slab < G::kSlabs; ++slab) {
      ptx::wgmma_shared<T, G::kWarpgroupColumns>(sums[slab], ptx::advance(rows, slab * G::kSlabRows * G::kRowBytes),
                                                 columns, accumulate);
    }
  }

  // Arrives at the empty barriers of all blocks that copy into this block's stage, one thread each.
  __device__ __forceinline__ void release(u32 stage) const {
    if constexpr (G::kTilesOfCluster == 1) {
      if (thread == 0) ptx::mbarrier_arrive(&storage.empty[stage]);
    } else if (thread < G::kTilesOfCluster) {
      const u32 rank = static_cast<u32>(thread);
      if (rank % G::kClusterRows == rank_rows || rank / G::kClusterRows == rank_columns) {
        ptx::mbarrier_arrive_cluster_relaxed(
            ptx::map_shared(&storage.empty[stage], rank_part * G::kTilesOfCluster + rank));
      }
    }
  }
};

// Sums of cut tiles that blocks pass to each other through memory.
template <class Config>
struct StreamParts {
  using G = StreamGeometry<Config>;
  enum : int {
    kFour = 4,
    kAtOnce = G::kSlabs * G::kSums <= 104 ? 16 : 8,
    kPart = G::kWarpgroup * G::kSlabs * G::kSums
  };

  float* partials;  // per block and warpgroup of a tile
  u32* flags;       // likewise: 1 once a part may be read

  __device__ __forceinline__ u32 index(u32 block, u32 of_tile) const { return block * G::kUsersOfStage + of_tile; }

  // Writes this block's part, for a later block.
  __device__ __forceinline__ void leave(const float (&sums)[G::kSlabs][G::kSums], u32 of_tile,
                                        const StreamStore<Config>& out) const {
    const u32 own = index(blockIdx.x, of_tile);
    float* const part = partials + i64{own} * kPart + out.thread() * kFour;
#pragma unroll
    for (int slab = 0; slab < G::kSlabs; ++slab) {
#pragma unroll
      for (int i = 0; i < G::kSums; i += kFour) {
        Vector<float, kFour> four;
#pragma unroll
        for (int j = 0; j < kFour; ++j) four[j] = sums[slab][i + j];
        store_vector(part + (slab * G::kSums + i) * G::kWarpgroup, four);
      }
    }
    // Publish all threads' parts before the flag.
    __threadfence();
    out.sync();
    if (out.thread() == 0) atomicExch(&flags[own], 1u);
  }

  // Waits for the part of `block`, adds it and resets its flag.
  __device__ __forceinline__ void add(float (&sums)[G::kSlabs][G::kSums], u32 block, u32 of_tile,
                                      const StreamStore<Config>& out) const {
    const u32 other = index(block, of_tile);
    if (out.thread() == 0) {
      while (atomicAdd(&flags[other], 0u) == 0) {
      }
      flags[other] = 0;
      __threadfence();
    }
    out.sync();
    const float* const part = partials + i64{other} * kPart + out.thread() * kFour;
#pragma unroll
    for (int slab = 0; slab < G::kSlabs; ++slab) {
#pragma unroll
      for (int i = 0; i < G::kSums; i += kFour) {
        const int at = slab * G::kSums + i;
        if (at > 0 && at % (kFour * kAtOnce) == 0) __syncwarp();
        const auto four = load_vector<kFour, Load::kStreaming>(part + at * G::kWarpgroup);
#pragma unroll
        for (int j = 0; j < kFour; ++j) sums[slab][i + j] += four[j];
      }
    }
  }
};

// A consumer warpgroup: multiplies and stores, piece after piece.
template <class Config>
__device__ __forceinline__ void stream_consume(typename StreamGeometry<Config>::Storage& storage,
                                               StreamStore<Config> out, StreamSchedule<Config> schedule,
                                               StreamParts<Config> parts, u32 last_steps) {
  using G = StreamGeometry<Config>;
  constexpr u32 kTurn = 1 + G::kConsumers;  // the first named barrier after those of the stores
  constexpr u32 kBoth = 2 * G::kWarpgroup;
  const u32 own = static_cast<u32>(out.warpgroup);
  const u32 of_tile = G::kPingPong ? 0 : own;  // the warpgroup's number in its tile
  const int first_row = G::kHalves ? 0 : static_cast<int>(of_tile) * G::kWarpgroupRows;
  const int first_column = G::kHalves ? static_cast<int>(of_tile) * G::kWarpgroupColumns : 0;
  const StreamMultiplier<Config> multiplier{
      storage, first_row, first_column, out.thread(), schedule.rank_rows, schedule.rank_columns, schedule.rank_part};
  Ring<G::kStages> ring;
  const auto leave_to_other = [&] {
    ring.advance(schedule.work().count);
    schedule.skip();
  };
  if constexpr (G::kPingPong) {
    if (own == 1) {
      if (!schedule.done()) leave_to_other();
      ptx::barrier_arrive(kTurn, kBoth);
    }
  }
  while (!schedule.done()) {
    const auto work = schedule.work();
    const bool has_end = work.first + work.count == schedule.blocks_k;
    float sums[G::kSlabs][G::kSums];
    if constexpr (G::kPingPong) ptx::barrier_sync(kTurn + own, kBoth);
    // Elements beyond k are zeros. In a cluster that shares k, a loop over the steps that k has would make the compiler
    // wait between products.
    const u32 steps = G::kParts == 1 && has_end ? last_steps : static_cast<u32>(G::kSteps);
    multiplier.multiply(sums, ring, work.count, steps, [&] {
      if constexpr (G::kPingPong) ptx::barrier_arrive(kTurn + 1 - own, kBoth);
    });
    if constexpr (G::kParts > 1) {
      // This is the cluster's only tile: no copy comes to the ring any more.
      StreamShare<Config>::store(storage, out, sums, schedule.rank_part, work.row + first_row,
                                 work.column + first_column);
    } else if (Config::stream != 0 && !has_end) {
      parts.leave(sums, of_tile, out);
    } else {
      if (Config::stream != 0 && work.first > 0) {
        // Add the parts of earlier clusters, back to the one that has the tile's first k.
        u32 cluster = schedule.cluster;
        const u32 start = work.tile * schedule.blocks_k;
        do {
          --cluster;
          parts.add(sums, blockIdx.x - (schedule.cluster - cluster) * G::kClusterSize, of_tile, out);
        } while (schedule.bound(cluster) > start);
      }
      out.store(storage.c[own], sums, work.row + first_row, work.column + first_column);
    }
    schedule.skip();
    if (G::kPingPong && !schedule.done()) leave_to_other();
  }
}

}  // namespace tilewright::gemm

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::StreamGeometry<Config>::kThreads, 1)
    gemm_stream(const __grid_constant__ tilewright::TensorMap map_a,
                const __grid_constant__ tilewright::TensorMap map_b,
                const __grid_constant__ tilewright::TensorMap map_c, const typename Config::dtype* bias,
                const typename Config::dtype* residual, typename Config::dtype* c, float* partials, unsigned* flags,
                long long m, long long n, long long k) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using G = StreamGeometry<Config>;
  auto& storage = *shared_storage<typename G::Storage>();
  const u32 rank = G::kClusterSize > 1 ? ptx::cluster_rank() : 0;
  const int thread = static_cast<int>(threadIdx.x);
  // The shuffle tells the compiler that all lanes have the same value.
  const int warpgroup = __shfl_sync(kFullMask, thread / G::kWarpgroup, 0);

  const StreamSchedule<Config> schedule(G::kSwap ? n : m, G::kSwap ? m : n, k, rank);
  if (thread == 0) {
    ptx::prefetch_map(map_a);
    ptx::prefetch_map(map_b);
    ptx::prefetch_map(map_c);
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

  if (warpgroup == 0) {
    ptx::release_registers<G::kProducerRegisters>();
    if (thread == 0) {
      stream_produce<Config>(storage, G::kSwap ? map_b : map_a, G::kSwap ? map_a : map_b, schedule);
    }
    __syncwarp();
    if constexpr (G::kParts > 1) ptx::cluster_sync();  // pairs with that of StreamShare
  } else {
    ptx::acquire_registers<G::kConsumerRegisters>();
    const StreamStore<Config> out{
        map_c, bias, residual, c, m, n, warpgroup - 1, thread % G::kWarpgroup / kWarpSize, thread % kWarpSize};
    const u32 rest = static_cast<u32>(k % G::kBlockK);
    stream_consume<Config>(
        storage, out, schedule, StreamParts<Config>{partials, flags},
        rest == 0 ? static_cast<u32>(G::kSteps) : ceil_div(rest, static_cast<u32>(G::kStepElements)));
    out.drain();
  }
  // No block ends while others copy to it or arrive at its barriers.
  if constexpr (G::kClusterSize > 1) ptx::cluster_sync();
}
