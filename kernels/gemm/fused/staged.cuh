// SPDX-License-Identifier: Apache-2.0
#pragma once

// The wgmma kernel for a product with a residual, which waits in shared memory when the last product ends. Read from
// global memory it is late: a thread has two columns of a row, so that its loads touch eight lines a warp, and they
// take the bandwidth of shared memory from the products of the other warpgroup.
//
// c leaves by pieces of 64 rows and kStoreColumns columns. Each warpgroup has a ring of buffers, one piece each:
//
//             copying warp                 warpgroup                         copying warp
//   buffer    residual comes ─ arrived ─▶  becomes c, in place ─ written ─▶  c leaves, the next residual comes
//
// Each warpgroup has a copying warp, beside the producing one. It alone starts copies to and from the buffers, so it
// alone waits until a store has read one. Residuals come in the order of pieces, across tiles: those of a tile's first
// pieces while its products run. The others are brought into L2 meanwhile.
//
//   a, b, c, residual   address and row length are multiples of 16 bytes
//   bias                aligned to two elements

#include "device/ptx/cache_policy.cuh"
#include "device/ptx/ldmatrix.cuh"
#include "wgmma.cuh"

namespace tilewright::gemm {

// A tile's k is whole.
template <class Config>
struct WholeTiles : LinearByMap<Config> {
  static constexpr int block_k = 64, split_k = 1, cluster_k = 1;
};

// Config::buffers for each warpgroup.
template <class Config>
struct Staged : WholeTiles<Config> {};

// Shared memory that an op has besides, for each warpgroup.
template <class Config>
struct alignas(16) OwnOfStaged {};

template <class Config>
struct Geometry<Staged<Config>> : Geometry<WholeTiles<Config>> {
  using Base = Geometry<WholeTiles<Config>>;
  enum : int {
    kBuffers = Config::buffers,
    kPiecesAcross = Base::kBlockN / Base::kStoreColumns,
    kPieces = Base::kSlabs * kPiecesAcross,  // of a warpgroup's part of a tile
    kWarps = Base::kWarpgroup / 32,
  };
  static_assert(sizeof(typename Base::T) == 2, "ldmatrix and stmatrix move 16 bits");

  struct Storage {
    alignas(1024) unsigned char a[Base::kStages][Base::kBytesA];
    alignas(1024) unsigned char b[Base::kStages][Base::kBytesB];
    alignas(1024) unsigned char c[Base::kConsumers][kBuffers][Base::kStoreBytes];
    OwnOfStaged<Config> own[Base::kConsumers];
    u64 full[Base::kStages];
    u64 empty[Base::kStages];
    u64 arrived[Base::kConsumers][kBuffers];
    u64 written[Base::kConsumers][kBuffers];
  };
};

// The pieces of a warpgroup, tile after tile, as the corners of their boxes.
template <class Config>
struct Pieces {
  using G = Geometry<Config>;

  Schedule<Config> schedule;
  i32 first_row;  // of the warpgroup in a tile
  i32 tile_row = 0, tile_column = 0;
  int piece = 0;  // of the tile

  __device__ __forceinline__ Pieces(const Schedule<Config>& of_block, int warpgroup)
      : schedule(of_block), first_row(G::kPingPong ? 0 : warpgroup * G::kWarpgroupRows) {
    if constexpr (G::kPingPong) schedule.skip(static_cast<u32>(warpgroup));
    enter_tile();
  }

  __device__ __forceinline__ bool done() const { return schedule.done(); }
  __device__ __forceinline__ i32 row() const { return row_of(piece); }
  __device__ __forceinline__ i32 column() const { return column_of(piece); }
  __device__ __forceinline__ i32 row_of(int number) const {
    return tile_row + number / G::kPiecesAcross * G::kSlabRows;
  }
  __device__ __forceinline__ i32 column_of(int number) const {
    return tile_column + number % G::kPiecesAcross * G::kStoreColumns;
  }

  __device__ __forceinline__ void advance() {
    if (++piece < G::kPieces) return;
    piece = 0;
    schedule.skip(G::kPingPong ? 2 : 1);
    enter_tile();
  }

 private:
  __device__ __forceinline__ void enter_tile() {
    if (done()) return;
    const auto work = schedule.work();
    tile_row = static_cast<i32>(work.row) + first_row;
    tile_column = static_cast<i32>(work.column);
  }
};

// What a copying warp does: all lanes call, the first one copies.
template <class Config>
struct PieceCopier {
  using G = Geometry<Config>;
  using T = typename G::T;

  typename G::Storage& storage;
  const TensorMap& map_residual;
  const TensorMap& map_c;
  const T* residual;
  i64 m, n;
  int warpgroup, lane;

  __device__ __forceinline__ void run(const Schedule<Config>& schedule) const {
    Pieces<Config> to_load(schedule, warpgroup), to_store(schedule, warpgroup);

    // Fill all buffers: nothing has been stored from them.
    for (u32 buffer = 0; buffer < G::kBuffers && !to_load.done(); ++buffer) load(to_load, buffer);

    Ring<G::kBuffers> ring;
    for (; !to_store.done(); to_store.advance(), ring.advance()) {
      ptx::mbarrier_wait(&storage.written[warpgroup][ring.stage], ring.parity);
      if (lane == 0) {
        ptx::tensor_store(map_c, to_store.column(), to_store.row(), storage.c[warpgroup][ring.stage]);
        ptx::bulk_commit();
        // Before the buffer is filled anew, and before shared memory is released.
        ptx::bulk_wait_read<0>();
      }
      if (!to_load.done()) load(to_load, ring.stage);
    }
  }

 private:
  __device__ __forceinline__ void load(Pieces<Config>& pieces, u32 buffer) const {
    if (lane == 0) {
      u64* const arrived = &storage.arrived[warpgroup][buffer];
      ptx::mbarrier_arrive_expect_tx(arrived, G::kStoreBytes);
      // L2 is for operands, and for c, which the next kernel reads.
      ptx::tensor_load_with_policy(storage.c[warpgroup][buffer], map_residual, pieces.column(), pieces.row(), arrived,
                                   ptx::policy_evict_first());
    }
    if (G::kBuffers < G::kPieces && pieces.piece == 0) prefetch(pieces);
    pieces.advance();
  }

  // Brings into L2 what the tile has beyond its first buffers: it is needed soon after it can be loaded.
  __device__ __forceinline__ void prefetch(const Pieces<Config>& pieces) const {
#pragma unroll 1
    for (int number = G::kBuffers; number < G::kPieces; ++number) {
      const i64 column = pieces.column_of(number);
#pragma unroll
      for (int i = 0; i < G::kSlabRows; i += kWarpSize) {
        const i64 row = pieces.row_of(number) + i + lane;
        if (row < m && column < n) ptx::prefetch_l2(residual + row * n + column);
      }
    }
  }
};

// The epilogue of gemm. An op with another one has a class in its place, with the same functions.
template <class Config>
struct StagedTail {
  using G = Geometry<Config>;
  using T = typename G::T;
  using E = Epilogue<Config>;
  using Pair = Packed<T, 2>;
  // The tile's bias: the lanes of each warp have all of it, in pairs.
  enum : int { kPairs = ceil_div(static_cast<int>(G::kBlockN), 2 * kWarpSize) };
  struct Ahead {
    Pair bias[kPairs];
  };

  typename G::Storage& storage;
  const T* bias;
  i64 n;
  int warpgroup, warp, lane;

  // Before the products of the warpgroup's rows from `row` and columns from `column`.
  __device__ __forceinline__ void prefetch(Ahead& ahead, i64, i64 column) const {
    if constexpr (E::kHasBias) {
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        const i64 here = column + 2 * (i * kWarpSize + lane);
        ahead.bias[i] = here < n ? load_packed<2>(bias + here) : Pair{};
      }
    }
  }
  // After all of them are issued.
  __device__ __forceinline__ void load(Ahead&, i64, i64) const {}
  // Makes four sums c, of a slab and of a group of 8 columns: two neighbours, and those 8 rows below.
  __device__ __forceinline__ void finish(const Ahead& ahead, float (&four)[4], const float (&residual)[4], int,
                                         int group) const {
    float of_bias[2] = {};
    if constexpr (E::kHasBias) bias_of(ahead, group, of_bias);
#pragma unroll
    for (int i = 0; i < 4; ++i) four[i] = E::finish(four[i], of_bias[i % 2], residual[i]);
  }

  // The bias of the lane's columns. All lanes call.
  __device__ __forceinline__ void bias_of(const Ahead& ahead, int group, float (&pair)[2]) const {
    const u32 own = __builtin_bit_cast(u32, ahead.bias[group / 8]);
    to_float(__builtin_bit_cast(Pair, __shfl_sync(kFullMask, own, group % 8 * 4 + lane % 4)), pair);
  }
  __device__ __forceinline__ int thread() const { return warp * kWarpSize + lane; }
  // A barrier of the warpgroup.
  __device__ __forceinline__ void sync() const {
    constexpr int kFirstBarrier = 1;
    ptx::barrier_sync(static_cast<u32>(kFirstBarrier + warpgroup), G::kWarpgroup);
  }
};

// The lane's 16 bytes of groups `group` and the next of 8 columns, for the four matrices that a warp moves at once;
// swizzled as tensor copies are.
template <class Config>
__device__ __forceinline__ unsigned char* unit_of_piece(unsigned char* buffer, int warp, int lane, int group) {
  using G = Geometry<Config>;
  constexpr bool kWide = G::kStoreRowBytes == 128;
  const int row = warp * 16 + lane % 16;
  const int swizzled = (group + lane / 16) ^ (kWide ? row & 7 : row >> 1 & 3);
  return buffer + row * G::kStoreRowBytes + swizzled * 16;
}

// A warpgroup's sums become c in its ring of buffers. `finish(slab, group, four, residual)` as in StagedTail.
template <class Config, class Finish>
__device__ __forceinline__ void finish_staged(typename Geometry<Config>::Storage& storage,
                                              const float (&sums)[Geometry<Config>::kSlabs][Geometry<Config>::kSums],
                                              Ring<Geometry<Config>::kBuffers>& ring, int warpgroup, int warp, int lane,
                                              const Finish& finish) {
  using G = Geometry<Config>;
  using T = typename G::T;
  constexpr int kGroups = G::kStoreColumns / 8;  // of a piece
#pragma unroll
  for (int slab = 0; slab < G::kSlabs; ++slab) {
#pragma unroll
    for (int across = 0; across < G::kPiecesAcross; ++across, ring.advance()) {
      unsigned char* const buffer = storage.c[warpgroup][ring.stage];
      ptx::mbarrier_wait(&storage.arrived[warpgroup][ring.stage], ring.parity);

      // Residuals come in the registers of their sums. A warp reads and writes its own 16 rows.
      u32 words[kGroups / 2][4];
#pragma unroll
      for (int i = 0; i < kGroups / 2; ++i) {
        ptx::ldmatrix_x4(words[i], unit_of_piece<Config>(buffer, warp, lane, 2 * i));
      }
#pragma unroll
      for (int i = 0; i < kGroups / 2; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int group = across * kGroups + 2 * i + j;
          float four[4], residual[4];
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            float pair[2];
            to_float(__builtin_bit_cast(Packed<T, 2>, words[i][2 * j + half]), pair);
#pragma unroll
            for (int k = 0; k < 2; ++k) {
              four[half * 2 + k] = sums[slab][group * 4 + half * 2 + k];
              residual[half * 2 + k] = pair[k];
            }
          }
          finish(slab, group, four, residual);
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const float pair[2] = {four[half * 2], four[half * 2 + 1]};
            words[i][2 * j + half] = __builtin_bit_cast(u32, from_float<T>(pair));
          }
        }
        ptx::stmatrix_x4(unit_of_piece<Config>(buffer, warp, lane, 2 * i), words[i]);
      }

      ptx::fence_shared_to_async();
      __syncwarp();
      if (lane == 0) ptx::mbarrier_arrive(&storage.written[warpgroup][ring.stage]);
    }
  }
}

// A consumer warpgroup: multiplies and finishes, tile after tile.
template <class Config, class Tail>
__device__ __forceinline__ void consume_staged(typename Geometry<Config>::Storage& storage, const Tail& tail,
                                               Schedule<Config> schedule, int warpgroup, int warp, int lane) {
  using G = Geometry<Config>;
  constexpr u32 kTurn = 1 + G::kConsumers;  // the first named barrier after those of a tail
  constexpr u32 kBoth = 2 * G::kWarpgroup;
  const u32 own = static_cast<u32>(warpgroup);
  const int first_row = G::kPingPong ? 0 : warpgroup * G::kWarpgroupRows;
  const LinearMultiplier<Config> multiplier{storage, first_row, warp * kWarpSize + lane, schedule.rank_m,
                                            schedule.rank_n};
  Ring<G::kStages> ring;
  Ring<G::kBuffers> buffers;
  const auto leave_to_other = [&] {
    ring.advance(schedule.blocks_k);
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
    multiplier.multiply(sums, ring, schedule.blocks_k, [&] {
      if constexpr (G::kPingPong) ptx::barrier_arrive(kTurn + 1 - own, kBoth);
      tail.load(ahead, row, work.column);
    });
    finish_staged<Config>(storage, sums, buffers, warpgroup, warp, lane,
                          [&](int slab, int group, float(&four)[4], const float(&residual)[4]) {
                            tail.finish(ahead, four, residual, slab, group);
                          });
    schedule.skip(1);
    if (G::kPingPong && !schedule.done()) leave_to_other();
  }
}

// `make_tail(storage, warpgroup, warp, lane)` makes a thread's tail.
template <class Config, class MakeTail>
__device__ __forceinline__ void run_staged(const TensorMap& map_a, const TensorMap& map_b,
                                           const TensorMap& map_residual, const TensorMap& map_c,
                                           const typename Config::dtype* residual, i64 m, i64 n, i64 k,
                                           const MakeTail& make_tail) {
  using G = Geometry<Config>;
  auto& storage = *shared_storage<typename G::Storage>();
  const u32 rank = G::kClusterSize > 1 ? ptx::cluster_rank() : 0;
  const int thread = static_cast<int>(threadIdx.x);
  // The shuffle tells the compiler that all lanes have the same value.
  const int warp_of_block = __shfl_sync(kFullMask, thread / kWarpSize, 0);
  const int warpgroup = warp_of_block / G::kWarps;
  const int warp = warp_of_block % G::kWarps, lane = thread % kWarpSize;

  // Initialise the barriers of both rings.
  if (thread == 0) {
    ptx::prefetch_map(map_a);
    ptx::prefetch_map(map_b);
    ptx::prefetch_map(map_residual);
    ptx::prefetch_map(map_c);
    for (int stage = 0; stage < G::kStages; ++stage) {
      ptx::mbarrier_init(&storage.full[stage], 1);
      ptx::mbarrier_init(&storage.empty[stage], G::kUsersOfStage * G::kReach);
    }
    for (int consumer = 0; consumer < G::kConsumers; ++consumer) {
      for (int buffer = 0; buffer < G::kBuffers; ++buffer) {
        ptx::mbarrier_init(&storage.arrived[consumer][buffer], 1);
        ptx::mbarrier_init(&storage.written[consumer][buffer], G::kWarps);
      }
    }
    ptx::fence_mbarrier_init();
  }
  if constexpr (G::kClusterSize > 1) {
    ptx::cluster_sync();
  } else {
    __syncthreads();
  }

  // The first warp fills the ring of operands, those beside it copy pieces, and warpgroups multiply.
  const Schedule<Config> schedule(m, n, k, rank);
  if (warpgroup == 0) {
    if constexpr (G::kConsumers > 1) ptx::release_registers<G::kProducerRegisters>();
    if (thread == 0) produce_with<Config>(storage, map_a, PlainLoad<Config>{map_b}, schedule);
    if (warp > 0 && warp <= G::kConsumers) {
      PieceCopier<Config>{storage, map_residual, map_c, residual, m, n, warp - 1, lane}.run(schedule);
    }
    __syncwarp();
  } else {
    if constexpr (G::kConsumers > 1) ptx::acquire_registers<G::kConsumerRegisters>();
    consume_staged<Config>(storage, make_tail(storage, warpgroup - 1, warp, lane), schedule, warpgroup - 1, warp, lane);
  }
  // No block ends while others copy to it or arrive at its barriers.
  if constexpr (G::kClusterSize > 1) ptx::cluster_sync();
}

}  // namespace tilewright::gemm
