// SPDX-License-Identifier: Apache-2.0
#pragma once

// The epilogue of the stream kernel: a warpgroup's sums become rows of c through two buffers of shared memory. Tensor
// copies store them, ending where the tile does; if swap = 0, the rest of its columns is stored by 16 bytes a lane.
//
// In warp w, lane l, with g = l / 4 and t = l % 4, sums 4j … 4j + 3 of a slab are of rows 16w + g and 16w + g + 8,
// columns 8j + 2t and 8j + 2t + 1 (ptx/wgmma_steps.cuh). If swap = 1, its rows are columns of c.

#include "device/convert.cuh"
#include "device/ptx/barrier.cuh"
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/stmatrix.cuh"
#include "device/ptx/stmatrix_transposed.cuh"
#include "device/ptx/tensor_copy.cuh"
#include "device/tensor_map.cuh"
#include "device/vector.cuh"
#include "epilogue.cuh"
#include "stream_geometry.cuh"

namespace tilewright::gemm {

template <class Config>
struct StreamStore {
  using T = typename Config::dtype;
  using G = StreamGeometry<Config>;
  using E = Epilogue<Config>;
  using Buffers = unsigned char[2][G::kPieceBytes];
  enum : int { kGroup = 8, kVec = 8 };

  const TensorMap& map;
  const T* bias;
  const T* residual;
  T* c;
  i64 m, n;
  int warpgroup;
  int warp, lane;

  // Writes the sums of the product's rows from `row` and columns from `column`.
  __device__ __forceinline__ void store(Buffers& buffers, float (&sums)[G::kSlabs][G::kSums], i64 row,
                                        i64 column) const {
#pragma unroll
    for (int slab = 0; slab < G::kSlabs; ++slab) {
      const i64 first_row = row + slab * G::kSlabRows;
      finish(sums[slab], first_row, column);
#pragma unroll
      for (int piece = 0; piece < G::kPieces; ++piece) {
        constexpr int kPieceSums = G::kPieceColumns / 2;
        u32 pairs[kPieceSums / 2];
#pragma unroll
        for (int i = 0; i < kPieceSums / 2; ++i) {
          const int index = piece * kPieceSums + 2 * i;
          const float pair[2] = {index < G::kSums ? sums[slab][index < G::kSums ? index : 0] : 0.0f,
                                 index < G::kSums ? sums[slab][index < G::kSums ? index + 1 : 0] : 0.0f};
          pairs[i] = __builtin_bit_cast(u32, from_float<T>(pair));
        }
        const i64 first_column = column + piece * G::kPieceColumns;
        const int left = G::kWarpgroupColumns - piece * G::kPieceColumns;
        move(buffers, slab * G::kPieces + piece, pairs, left < G::kPieceColumns ? left : G::kPieceColumns, first_row,
             first_column);
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
    if (is_leader()) ptx::bulk_wait_read<0>();
  }

  __device__ __forceinline__ int thread() const { return warp * kWarpSize + lane; }

 private:
  __device__ __forceinline__ int lane_row() const { return warp * 16 + lane / 4; }
  __device__ __forceinline__ int lane_column() const { return lane % 4 * 2; }

  // Applies bias, activation and residual to a slab.
  __device__ __forceinline__ void finish(float (&values)[G::kSums], i64 first_row, i64 first_column) const {
    if constexpr (!E::kHasBias && !E::kHasResidual && Config::act == "none") return;
    float row_bias[2] = {};
    if constexpr (E::kHasBias && G::kSwap) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const i64 at = first_row + lane_row() + half * 8;
        if (at < n) row_bias[half] = to_float(bias[at]);
      }
    }
#pragma unroll
    for (int group = 0; group < G::kSums / 4; ++group) {
      const i64 column = first_column + group * kGroup + lane_column();
      float bias_pair[2] = {};
      if constexpr (E::kHasBias && !G::kSwap) {
        if (column < n) to_float(load_packed<2>(bias + column), bias_pair);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const i64 row = first_row + lane_row() + half * 8;
        float residual_pair[2] = {};
        if constexpr (E::kHasResidual) {
          if constexpr (G::kSwap) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
              if (column + i < m && row < n) residual_pair[i] = to_float(residual[(column + i) * n + row]);
            }
          } else {
            if (row < m && column < n) to_float(load_packed<2>(residual + row * n + column), residual_pair);
          }
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& value = values[group * 4 + half * 2 + i];
          value = E::finish(value, G::kSwap ? row_bias[half] : bias_pair[i], residual_pair[i]);
        }
      }
    }
  }

  // The thread that copies: one of the warpgroup if swap = 1, else one of each warp, for the warp's rows.
  __device__ __forceinline__ bool is_leader() const { return (G::kSwap ? thread() : lane) == 0; }
  __device__ __forceinline__ void meet() const {
    if constexpr (G::kSwap) {
      sync();
    } else {
      __syncwarp();
    }
  }

  // A 16-byte unit of a buffer's row of 128 or 64 bytes, swizzled as tensor copies expect.
  __device__ static __forceinline__ unsigned char* unit(unsigned char* buffer, int row, int index) {
    return G::kSwap ? buffer + row * 128 + (index ^ (row & 7)) * 16 : buffer + row * 64 + (index ^ (row / 2 & 3)) * 16;
  }

  // Stores `width` columns; `pairs` has four for each group of 8. `turn` counts within a tile.
  template <int kPairs>
  __device__ __forceinline__ void move(Buffers& buffers, int turn, const u32 (&pairs)[kPairs], int width, i64 first_row,
                                       i64 first_column) const {
    unsigned char* const buffer = buffers[turn % 2];
    // Wait until copies from this buffer have read it; at the start of a tile, all copies.
    if (is_leader()) {
      if (turn == 0) {
        ptx::bulk_wait_read<0>();
      } else {
        ptx::bulk_wait_read<1>();
      }
    }
    meet();
#pragma unroll
    for (int group = 0; group < kPairs / 2; group += 2) {
      if (group * kGroup >= width) continue;
      const u32 four[4] = {pairs[group * 2], pairs[group * 2 + 1], pairs[group * 2 + 2], pairs[group * 2 + 3]};
      if constexpr (G::kSwap) {
        ptx::stmatrix_x4_transposed(unit(buffer, (group + lane / 16) * kGroup + lane % 8, warp * 2 + lane / 8 % 2),
                                    four);
      } else {
        ptx::stmatrix_x4(unit(buffer, warp * G::kStoreRows + lane % 16, group + lane / 16), four);
      }
    }
    if (G::kSwap || width == G::kPieceColumns) {
      ptx::fence_shared_to_async();
      meet();
      if (is_leader()) copy(buffer, width, first_row, first_column);
    } else {
      __syncwarp();
      const int units = width / kVec;
      for (int i = lane; i < G::kStoreRows * units; i += kWarpSize) {
        const int row = warp * G::kStoreRows + i / units, index = i % units;
        const i64 column = first_column + index * kVec;
        if (first_row + row < m && column < n) {
          store_vector(c + (first_row + row) * n + column,
                       load_vector<kVec>(reinterpret_cast<const T*>(unit(buffer, row, index))));
        }
      }
    }
    if (is_leader()) ptx::bulk_commit();
  }

  // One thread calls. Copies begin inside c.
  __device__ __forceinline__ void copy(const unsigned char* buffer, int width, i64 first_row, i64 first_column) const {
    if constexpr (G::kSwap) {
      if (first_row >= n) return;
      for (int column = 0; column < width; column += G::kStoreColumns) {
        if (first_column + column >= m) return;
        ptx::tensor_store(map, static_cast<i32>(first_row), static_cast<i32>(first_column + column),
                          buffer + column * 128);
      }
    } else {
      const i64 row = first_row + warp * G::kStoreRows;
      if (row >= m || first_column >= n) return;
      ptx::tensor_store(map, static_cast<i32>(first_column), static_cast<i32>(row),
                        buffer + warp * (G::kStoreRows * 64));
    }
  }
};

}  // namespace tilewright::gemm
