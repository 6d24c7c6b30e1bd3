// SPDX-License-Identifier: Apache-2.0
#pragma once

// The epilogue of the wgmma kernel: a warpgroup's sums become rows of c, either through shared memory by tensor copies
// (c's rows at multiples of 16 bytes), or from registers, two elements a lane.
//
// In warp w, lane l, with g = l / 4 and t = l % 4, sums 4j … 4j + 3 of a slab are of rows 16w + g and 16w + g + 8,
// columns 8j + 2t and 8j + 2t + 1 (ptx/wgmma.cuh).

#include "device/convert.cuh"
#include "device/ptx/barrier.cuh"
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/prefetch.cuh"
#include "device/ptx/stmatrix.cuh"
#include "device/ptx/tensor_copy.cuh"
#include "device/tensor_map.cuh"
#include "device/vector.cuh"
#include "epilogue.cuh"
#include "wgmma_geometry.cuh"

namespace tilewright::gemm {

template <class Config>
struct TileStore {
  using T = typename Config::dtype;
  using G = Geometry<Config>;
  using Storage = typename G::Storage;
  enum : int { kGroup = 8 };  // columns that a quad of lanes shares

  const TensorMap& map;
  const T* bias;
  const T* residual;
  T* c;
  i64 m, n;
  int warpgroup;  // among the consumers
  int warp, lane;

  // The epilogue's other operands, loaded while products run: a pair of the tile's bias, and the residual, two
  // neighbours a word, if registers suffice.
  enum : bool { kResidualAhead = Epilogue<Config>::kHasResidual && !G::kPingPong && G::kSlabs * G::kSums <= 128 };
  using Pair = Packed<T, 2>;
  struct Ahead {
    Pair bias;
    Pair residual[kResidualAhead ? G::kSlabs : 1][kResidualAhead ? G::kSums / 2 : 1];
  };

  // Before the products: loads the bias, and prefetches the residual into L2.
  __device__ __forceinline__ void prefetch(Ahead& ahead, i64 row, i64 column) const {
    if constexpr (Epilogue<Config>::kHasBias) {
      const i64 here = column + 2 * thread();
      ahead.bias = pair_at(bias, here, 2 * thread() < G::kBlockN ? n - here : 0);
    }
    if constexpr (Epilogue<Config>::kHasResidual) {
      constexpr int kLineElements = static_cast<int>(128 / sizeof(T));
      constexpr int kLines = ceil_div(static_cast<int>(G::kBlockN), kLineElements);
      for (int i = thread(); i < G::kWarpgroupRows * kLines; i += G::kWarpgroup) {
        const i64 line_row = row + i / kLines, line_column = column + i % kLines * kLineElements;
        if (line_row < m && line_column < n) ptx::prefetch_l2(residual + line_row * n + line_column);
      }
    }
  }
  // After all products are issued: loads the residual to registers, and shares the bias through shared memory.
  __device__ __forceinline__ void load(Storage& storage, Ahead& ahead, i64 row, i64 column) const {
    if constexpr (Epilogue<Config>::kHasBias) {
      // With short k nothing else keeps this warp until the others have read the last tile's bias; stores by map do.
      if constexpr (!Config::tensor_store) sync();
      if (2 * thread() < G::kBlockN) {
        store_vector(&storage.bias[warpgroup][2 * thread()], unpack(ahead.bias));
      }
    }
    if constexpr (kResidualAhead) {
#pragma unroll
      for (int slab = 0; slab < G::kSlabs; ++slab) {
#pragma unroll
        for (int pair = 0; pair < G::kSums / 2; ++pair) {
          const i64 here = row + slab * G::kSlabRows + lane_row() + pair % 2 * 8;
          const i64 column_here = column + pair / 2 * kGroup + lane_column();
          ahead.residual[slab][pair] = pair_at(residual, here * n + column_here, here < m ? n - column_here : 0);
        }
      }
    }
  }

  // Writes the sums of c's rows from `row` and columns from `column`.
  __device__ __forceinline__ void store(Storage& storage, const float (&sums)[G::kSlabs][G::kSums], const Ahead& ahead,
                                        i64 row, i64 column) const {
    if constexpr (Epilogue<Config>::kHasBias) sync();
    constexpr int kPieces = G::kBlockN / G::kStoreColumns;
#pragma unroll
    for (int slab = 0; slab < G::kSlabs; ++slab) {
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece) {
        const i64 first_row = row + slab * G::kSlabRows;
        const i64 first_column = column + piece * G::kStoreColumns;
        constexpr int kValues = G::kStoreColumns / 2;
        float values[kValues];
#pragma unroll
        for (int i = 0; i < kValues; ++i) values[i] = sums[slab][piece * kValues + i];
        const auto bias_at = [&](int group) {
          return load_packed<2>(&storage.bias[warpgroup][piece * G::kStoreColumns + group * kGroup + lane_column()]);
        };
        const auto residual_at = [&](int pair, i64 index, i64 exist) {
          if constexpr (kResidualAhead) {
            return ahead.residual[slab][piece * kValues / 2 + pair];
          } else {
            return pair_at(residual, index, exist);
          }
        };
        finish(values, first_row, first_column, bias_at, residual_at);
        if constexpr (Config::tensor_store) {
          // Buffers take turns. If a tile has an odd number of pieces, the next begins with the buffer of its last.
          const int turn = slab * kPieces + piece;
          const bool is_other = turn > 0 || G::kSlabs * kPieces % G::kStoreBuffers == 0;
          store_by_map(storage.c[warpgroup][turn % G::kStoreBuffers], is_other, values, first_row, first_column);
        } else {
          store_directly(values, first_row, first_column);
        }
      }
    }
  }

  // A barrier of the warpgroup.
  __device__ __forceinline__ void sync() const {
    constexpr int kFirstBarrier = 1;
    ptx::barrier_sync(static_cast<u32>(kFirstBarrier + warpgroup), G::kWarpgroup);
  }

  // Call before shared memory is released.
  __device__ __forceinline__ void drain() const {
    if (Config::tensor_store && is_leader()) ptx::bulk_wait_read<0>();
  }

 private:
  __device__ __forceinline__ bool is_leader() const { return warp == 0 && lane == 0; }
  __device__ __forceinline__ int thread() const { return warp * kWarpSize + lane; }
  // The lane's first pair of a group in a slab's piece.
  __device__ __forceinline__ int lane_row() const { return warp * 16 + lane / 4; }
  __device__ __forceinline__ int lane_column() const { return lane % 4 * 2; }

  // Two neighbours of a tensor, `exist` of which lie inside; zeros elsewhere.
  __device__ __forceinline__ Pair pair_at(const T* tensor, i64 index, i64 exist) const {
    if constexpr (Config::tensor_store) {
      // Rows are whole vectors here, so a pair is inside or outside.
      return exist > 0 ? load_packed<2>(tensor + index) : Pair{};
    } else {
      Vector<T, 2> pair{};
      if (exist > 0) pair[0] = tensor[index];
      if (exist > 1) pair[1] = tensor[index + 1];
      return pack(pair);
    }
  }

  // `bias_at(group)` and `residual_at(pair, index, exist)` give this piece's pairs, by number or by place.
  template <int kValues, class BiasAt, class ResidualAt>
  __device__ __forceinline__ void finish(float (&values)[kValues], i64 first_row, i64 first_column,
                                         const BiasAt& bias_at, const ResidualAt& residual_at) const {
    using E = Epilogue<Config>;
#pragma unroll
    for (int group = 0; group < kValues / 4; ++group) {
      const i64 column = first_column + group * kGroup + lane_column();
      float bias_pair[2] = {};
      if constexpr (E::kHasBias) to_float(bias_at(group), bias_pair);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const i64 row = first_row + lane_row() + half * 8;
        float residual_pair[2] = {};
        if constexpr (E::kHasResidual) {
          to_float(residual_at(group * 2 + half, row * n + column, row < m ? n - column : 0), residual_pair);
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& value = values[group * 4 + half * 2 + i];
          value = E::finish(value, bias_pair[i], residual_pair[i]);
        }
      }
    }
  }

  // `is_other`: the last piece was stored from another buffer.
  template <int kValues>
  __device__ __forceinline__ void store_by_map(unsigned char* buffer, bool is_other, const float (&values)[kValues],
                                               i64 first_row, i64 first_column) const {
    // Wait until the last store from this buffer has read it.
    if (is_leader()) {
      if (is_other) {
        ptx::bulk_wait_read<G::kStoreBuffers - 1>();
      } else {
        ptx::bulk_wait_read<0>();
      }
    }
    sync();
    to_shared(buffer, values);
    ptx::fence_shared_to_async();
    sync();
    if (is_leader()) {
      ptx::tensor_store(map, static_cast<i32>(first_column), static_cast<i32>(first_row), buffer);
      ptx::bulk_commit();
    }
  }

  // A 16-byte unit of a row of 128 or 64 bytes, swizzled as the tensor copy expects.
  __device__ __forceinline__ unsigned char* unit(unsigned char* buffer, int row, int index) const {
    constexpr bool kWide = G::kStoreRowBytes == 128;
    const int swizzled = index ^ (kWide ? row & 7 : row >> 1 & 3);
    return buffer + row * G::kStoreRowBytes + swizzled * 16;
  }

  template <int kValues>
  __device__ __forceinline__ void to_shared(unsigned char* buffer, const float (&values)[kValues]) const {
    if constexpr (sizeof(T) == 2) {
      // Two groups of columns by the warp's 16 rows are four matrices.
#pragma unroll
      for (int group = 0; group < kValues / 4; group += 2) {
        u32 pairs[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float pair[2] = {values[group * 4 + 2 * i], values[group * 4 + 2 * i + 1]};
          pairs[i] = __builtin_bit_cast(u32, from_float<T>(pair));
        }
        ptx::stmatrix_x4(unit(buffer, warp * 16 + lane % 16, group + lane / 16), pairs);
      }
    } else {
#pragma unroll
      for (int group = 0; group < kValues / 4; ++group) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float pair[2] = {values[group * 4 + half * 2], values[group * 4 + half * 2 + 1]};
          unsigned char* const to = unit(buffer, lane_row() + half * 8, group * 2 + lane_column() / 4);
          store_vector(reinterpret_cast<T*>(to) + lane_column() % 4, from_float<T>(pair));
        }
      }
    }
  }

  template <int kValues>
  __device__ __forceinline__ void store_directly(const float (&values)[kValues], i64 first_row,
                                                 i64 first_column) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const i64 row = first_row + lane_row() + half * 8;
      if (row >= m) continue;
#pragma unroll
      for (int group = 0; group < kValues / 4; ++group) {
#pragma unroll
        for (int of_pair = 0; of_pair < 2; ++of_pair) {
          const i64 column = first_column + group * kGroup + lane_column() + of_pair;
          if (column < n) c[row * n + column] = from_float<T>(values[group * 4 + half * 2 + of_pair]);
        }
      }
    }
  }
};

}  // namespace tilewright::gemm
