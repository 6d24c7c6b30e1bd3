// SPDX-License-Identifier: Apache-2.0
#pragma once

// A gemm with residual and the norm of its rows in one kernel. The blocks of a cluster have adjacent tiles that cover
// whole rows, in one line of blocks or two. Each warpgroup sends the statistics of its part of each row to the
// warpgroups with the other parts, stores s meanwhile, then makes y from its unrounded sums, which are still in
// registers.
//
//   slots    two, in turns: a block can be two tiles ahead of another that has read neither, but not three: it needs
//            the statistics that the other sends after reading them
//   heard    an mbarrier for each slot and warpgroup, which counts the bytes from all blocks, its own included

#include "added.cuh"
#include "addends.cuh"
#include "device/math.cuh"

namespace tilewright::gemm {

// The statistics of a part of a row: its sum and its squares around its mean; for an RMS norm its squares alone.
template <class Config>
struct RowShares {
  using G = Geometry<Config>;
  enum : int { kSlots = 2, kRows = G::kWarpgroupRows };
  struct Share {
    float sum, squares;
  };
  struct Storage {
    typename G::Storage tiles;
    alignas(16) Share shares[kSlots][G::kConsumers][G::kClusterN][kRows];
    u64 heard[kSlots][G::kConsumers];
  };
};

template <class Config, class Statistics>
struct NormTail {
  using G = Geometry<Config>;
  using T = typename G::T;
  using From = TileStore<Config>;
  using Out = TileStore<Plain<Config>>;
  using Shares = RowShares<Config>;
  using Share = typename Shares::Share;
  using Ahead = typename From::Ahead;
  enum : bool { kCentred = is_same<Statistics, row::Moments> };
  enum : int { kRowsOfThread = 2 * G::kSlabs };

  From from;  // s, and its addends
  const TensorMap& map_y;
  const T* weight;
  const T* norm_bias;
  float eps;
  typename Shares::Storage& storage;
  u32 rank_m, rank_n;  // in the cluster
  mutable u32 turn;    // tiles before this one

  __device__ __forceinline__ void prefetch(Ahead& ahead, i64 row, i64 column) const {
    from.prefetch(ahead, row, column);
  }
  __device__ __forceinline__ void load(typename G::Storage& tiles, Ahead& ahead, i64 row, i64 column) const {
    from.load(tiles, ahead, row, column);
  }
  __device__ __forceinline__ void sync() const { from.sync(); }
  __device__ __forceinline__ void drain() const { from.drain(); }

  __device__ __forceinline__ void store(typename G::Storage& tiles, float (&sums)[G::kSlabs][G::kSums], Ahead& ahead,
                                        i64 row, i64 column) const {
    using E = Epilogue<Config>;
    if constexpr (E::kHasBias) sync();
    const Addends<Config> added{from, tiles, ahead, row, column};
    for_each_pair<Config>(sums, [&](int slab, int group, int half, float* pair) {
      float bias[2] = {}, residual[2];
      if constexpr (E::kHasBias) added.bias(group, bias);
      added.residual(slab, group, half, residual);
#pragma unroll
      for (int i = 0; i < 2; ++i) pair[i] += bias[i] + residual[i];
    });

    const int first = added.lane_column();
    const i64 left = from.n - column;
    const int width =
        static_cast<int>(left < G::kBlockN ? left : G::kBlockN);  // columns of this block's part; 0 or less if none
    send(shares_of(sums, first, width));
    out(from.map).store(tiles, sums, {}, row, column);
    float mean[kRowsOfThread], rstd[kRowsOfThread];
    receive(mean, rstd);
    float weights[2], biases[2] = {};
    for_each_pair<Config>(sums, [&](int slab, int group, int half, float* pair) {
      const int of_row = slab * 2 + half;
      const int at = group * 8 + first;
      // Rows are whole vectors, so a pair is inside or outside.
      const bool exists = at < width;
      to_float(exists ? load_packed<2>(weight + column + at) : Packed<T, 2>{}, weights);
      if constexpr (kCentred) to_float(exists ? load_packed<2>(norm_bias + column + at) : Packed<T, 2>{}, biases);
#pragma unroll
      for (int i = 0; i < 2; ++i) pair[i] = fmaf((pair[i] - mean[of_row]) * rstd[of_row], weights[i], biases[i]);
    });
    out(map_y).store(tiles, sums, {}, row, column);
    ++turn;
  }

 private:
  struct Parts {
    Share of[kRowsOfThread];
  };

  __device__ __forceinline__ Out out(const TensorMap& map) const {
    return {map, nullptr, nullptr, nullptr, from.m, from.n, from.warpgroup, from.warp, from.lane};
  }
  __device__ __forceinline__ int row_of(int of_row) const {
    return of_row / 2 * G::kSlabRows + from.warp * 16 + from.lane / 4 + of_row % 2 * 8;
  }
  __device__ static __forceinline__ float over_quad(float value) {
    value += __shfl_xor_sync(kFullMask, value, 1);
    return value + __shfl_xor_sync(kFullMask, value, 2);
  }

  // The statistics of the thread's rows. Sums beyond a row's end are zero.
  __device__ __forceinline__ Parts shares_of(const float (&sums)[G::kSlabs][G::kSums], int first, int width) const {
    Parts parts;
    const float per_column = width > 0 ? 1.0f / static_cast<float>(width) : 0.0f;
#pragma unroll
    for (int of_row = 0; of_row < kRowsOfThread; ++of_row) {
      const float(&of_slab)[G::kSums] = sums[of_row / 2];
      float sum[4] = {}, squares[4] = {};
      float mean = 0.0f;
      if constexpr (kCentred) {
#pragma unroll
        for (int group = 0; group < G::kSums / 4; ++group) {
          sum[group % 4] += of_slab[group * 4 + of_row % 2 * 2] + of_slab[group * 4 + of_row % 2 * 2 + 1];
        }
        parts.of[of_row].sum = over_quad((sum[0] + sum[1]) + (sum[2] + sum[3]));
        mean = parts.of[of_row].sum * per_column;
      } else {
        parts.of[of_row].sum = 0.0f;
      }
#pragma unroll
      for (int group = 0; group < G::kSums / 4; ++group) {
        const bool counts = !kCentred || group * 8 + first < width;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float distance = counts ? of_slab[group * 4 + of_row % 2 * 2 + i] - mean : 0.0f;
          squares[group % 4] = fmaf(distance, distance, squares[group % 4]);
        }
      }
      parts.of[of_row].squares = over_quad((squares[0] + squares[1]) + (squares[2] + squares[3]));
    }
    return parts;
  }

  // Each of the four lanes that share a row sends to a quarter of the row's blocks.
  __device__ __forceinline__ void send(const Parts& parts) const {
    const u32 slot = turn % Shares::kSlots;
    u64* const heard = &storage.heard[slot][from.warpgroup];
    if (from.warp == 0 && from.lane == 0) {
      ptx::mbarrier_arrive_expect_tx(heard, static_cast<u32>(G::kClusterN * Shares::kRows * sizeof(Share)));
    }
#pragma unroll
    for (int of_row = 0; of_row < kRowsOfThread; ++of_row) {
      Share* const own = &storage.shares[slot][from.warpgroup][rank_n][row_of(of_row)];
      const u64 share = __builtin_bit_cast(u64, parts.of[of_row]);
#pragma unroll
      for (int i = 0; i < (G::kClusterN + 3) / 4; ++i) {
        const u32 line = static_cast<u32>(i * 4 + from.lane % 4), to = line * G::kClusterM + rank_m;
        if (line < G::kClusterN) {
          ptx::store_async(ptx::map_shared(reinterpret_cast<u64*>(own), to), share, ptx::map_shared(heard, to));
        }
      }
    }
  }

  __device__ __forceinline__ void receive(float (&mean)[kRowsOfThread], float (&rstd)[kRowsOfThread]) const {
    const u32 slot = turn % Shares::kSlots;
    ptx::mbarrier_wait<true>(&storage.heard[slot][from.warpgroup], turn / Shares::kSlots % 2);
    const float columns = static_cast<float>(from.n);
#pragma unroll
    for (int of_row = 0; of_row < kRowsOfThread; ++of_row) {
      float sum = 0.0f, squares = 0.0f;
      const auto each = [&](const auto& visit) {
#pragma unroll
        for (int block = 0; block < G::kClusterN; ++block) {
          const i64 left = from.n - i64{block} * G::kBlockN;
          const float width = static_cast<float>(left < 0 ? 0 : left < G::kBlockN ? left : i64{G::kBlockN});
          visit(storage.shares[slot][from.warpgroup][block][row_of(of_row)], width);
        }
      };
      if constexpr (kCentred) each([&](const Share& share, float) { sum += share.sum; });
      mean[of_row] = sum / columns;
      each([&](const Share& share, float width) {
        squares += share.squares;
        if constexpr (kCentred) {
          if (width > 0.0f) {
            const float distance = share.sum / width - mean[of_row];
            squares = fmaf(distance * distance, width, squares);
          }
        }
      });
      rstd[of_row] = rsqrt_for<T>(squares / columns + eps);
    }
  }
};

// A cluster has cluster_m × cluster_n tiles: cluster_n · block_n columns cover a row.
template <class Config, class Statistics>
__device__ __forceinline__ void norm_cluster(const TensorMap& map_a, const TensorMap& map_b, const TensorMap& map_s,
                                             const TensorMap& map_y, const typename Config::dtype* bias,
                                             const typename Config::dtype* residual,
                                             const typename Config::dtype* weight,
                                             const typename Config::dtype* norm_bias, float eps, i64 m, i64 n, i64 k) {
  using C = LinearByMap<Added<Config>>;
  using G = Geometry<C>;
  using Shares = RowShares<C>;
  auto& storage = *shared_storage<typename Shares::Storage>();
  const u32 rank = G::kClusterSize > 1 ? ptx::cluster_rank() : 0;
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < Shares::kSlots; ++slot) {
      for (int warpgroup = 0; warpgroup < G::kConsumers; ++warpgroup) {
        ptx::mbarrier_init(&storage.heard[slot][warpgroup], 1);
      }
    }
  }
  // The fence and the barrier of run_with() publish them.
  run_with<C>(
      map_a, PlainLoad<C>{map_b},
      [&](int warpgroup, int warp, int lane) {
        return NormTail<C, Statistics>{{map_s, bias, residual, nullptr, m, n, warpgroup, warp, lane},
                                       map_y,
                                       weight,
                                       norm_bias,
                                       eps,
                                       storage,
                                       rank % G::kClusterM,
                                       rank / G::kClusterM,
                                       0};
      },
      nullptr, nullptr, m, n, k);
}

}  // namespace tilewright::gemm
