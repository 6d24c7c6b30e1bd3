// SPDX-License-Identifier: Apache-2.0
#pragma once

// The epilogue of the wgmma kernel: a warpgroup's sums become rows of c, either through shared memory and by tensor copies
// (c's rows at multiples of 16 bytes), or straight from registers, two elements a lane.
//
// In warp w, lane l, with g = l / 4 and t = l % 4, sums 4j … 4j + 3 of a slab are of rows 16w + g and 16w + g + 8, columns
// 8j + 2t and 8j + 2t + 1 (ptx/wgmma.cuh).

#include "device/convert.cuh"
#include "device/ptx/barrier.cuh"
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/fence.cuh"
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
  int warpgroup;  // among those that multiply
  int warp, lane;

  // Writes the sums of the rows from `row` and the columns from `column` of c.
  __device__ __forceinline__ void store(Storage& storage, const float (&sums)[G::kSlabs][G::kSums], i64 row,
                                        i64 column) const {
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
        finish(values, first_row, first_column);
        if constexpr (Config::tensor_store) {
          unsigned char* const buffer = storage.c[warpgroup][(slab * kPieces + piece) % G::kStoreBuffers];
          store_by_map(buffer, values, first_row, first_column);
        } else {
          store_directly(values, first_row, first_column);
        }
      }
    }
  }

  // Before shared memory may go.
  __device__ __forceinline__ void drain() const {
    if (Config::tensor_store && is_leader()) ptx::bulk_wait_read<0>();
  }

 private:
  __device__ __forceinline__ bool is_leader() const { return warp == 0 && lane == 0; }
  // Where the lane's first pair of a group lies in a slab's piece.
  __device__ __forceinline__ int lane_row() const { return warp * 16 + lane / 4; }
  __device__ __forceinline__ int lane_column() const { return lane % 4 * 2; }

  // Two neighbours of a tensor, of which `exist` lie inside: zeros elsewhere.
  __device__ __forceinline__ void load_pair(float (&to)[2], const T* tensor, i64 index, i64 exist) const {
    to[0] = to[1] = 0.0f;
    if constexpr (Config::tensor_store) {
      // Rows are whole vectors here, and so a pair is inside or outside.
      if (exist > 0) to_float(load_vector<2>(tensor + index), to);
    } else {
      if (exist > 0) to[0] = to_float(tensor[index]);
      if (exist > 1) to[1] = to_float(tensor[index + 1]);
    }
  }

  template <int kValues>
  __device__ __forceinline__ void finish(float (&values)[kValues], i64 first_row, i64 first_column) const {
    using E = Epilogue<Config>;
#pragma unroll
    for (int group = 0; group < kValues / 4; ++group) {
      const i64 column = first_column + group * kGroup + lane_column();
      float bias_pair[2] = {};
      if constexpr (E::kHasBias) load_pair(bias_pair, bias, column, n - column);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const i64 row = first_row + lane_row() + half * 8;
        float residual_pair[2] = {};
        if constexpr (E::kHasResidual) load_pair(residual_pair, residual, row * n + column, row < m ? n - column : 0);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& value = values[group * 4 + half * 2 + i];
          value = E::finish(value, bias_pair[i], residual_pair[i]);
        }
      }
    }
  }

  template <int kValues>
  __device__ __forceinline__ void store_by_map(unsigned char* buffer, const float (&values)[kValues], i64 first_row,
                                               i64 first_column) const {
    // What was stored from this buffer before has been read.
    if (is_leader()) ptx::bulk_wait_read<G::kStoreBuffers - 1>();
    warpgroup_sync();
    to_shared(buffer, values);
    ptx::fence_shared_to_async();
    warpgroup_sync();
    if (is_leader()) {
      ptx::tensor_store(map, static_cast<i32>(first_column), static_cast<i32>(first_row), buffer);
      ptx::bulk_commit();
    }
  }

  // Rows of 128 or 64 bytes, whose 16-byte units the tensor copy expects swizzled.
  __device__ __forceinline__ unsigned char* unit(unsigned char* buffer, int row, int index) const {
    constexpr bool kWide = G::kStoreRowBytes == 128;
    const int swizzled = index ^ (kWide ? row & 7 : row >> 1 & 3);
    return buffer + row * G::kStoreRowBytes + swizzled * 16;
  }

  template <int kValues>
  __device__ __forceinline__ void to_shared(unsigned char* buffer, const float (&values)[kValues]) const {
    if constexpr (sizeof(T) == 2) {
      // Two groups of columns by the warp's 16 rows: four matrices.
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
  __device__ __forceinline__ void store_directly(const float (&values)[kValues], i64 first_row, i64 first_column) const {
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

  __device__ __forceinline__ void warpgroup_sync() const {
    constexpr int kFirstBarrier = 1;
    ptx::barrier_sync(static_cast<u32>(kFirstBarrier + warpgroup), G::kWarpgroup);
  }
};

}  // namespace tilewright::gemm
