// SPDX-License-Identifier: Apache-2.0
#pragma once

// The addends of a thread in the wgmma kernel, two neighbours at a time: its tile's bias, which TileStore copies to
// shared memory, and the residual, which TileStore loads to registers if there are enough.

#include "wgmma.cuh"

namespace tilewright::gemm {

template <class Config>
struct Addends {
  using G = Geometry<Config>;
  using T = typename G::T;
  using From = TileStore<Config>;
  using Ahead = typename From::Ahead;

  const From& from;
  const typename G::Storage& storage;
  const Ahead& ahead;
  i64 row, column;  // the warpgroup's first

  __device__ __forceinline__ int lane_column() const { return from.lane % 4 * 2; }
  __device__ __forceinline__ i64 row_of(int slab, int half) const {
    return row + slab * G::kSlabRows + from.warp * 16 + from.lane / 4 + half * 8;
  }

  // The bias of the thread's columns in group `group` of 8.
  __device__ __forceinline__ void bias(int group, float (&pair)[2]) const {
    to_float(load_packed<2>(&storage.bias[from.warpgroup][group * 8 + lane_column()]), pair);
  }
  __device__ __forceinline__ void residual(int slab, int group, int half, float (&pair)[2]) const {
    if constexpr (From::kResidualAhead) {
      to_float(ahead.residual[slab][group * 2 + half], pair);
    } else {
      const i64 here = row_of(slab, half), column_here = column + group * 8 + lane_column();
      Packed<T, 2> two{};
      if (here < from.m && column_here < from.n) two = load_packed<2>(from.residual + here * from.n + column_here);
      to_float(two, pair);
    }
  }
};

// Calls visit(slab, group, half, pair) for each pair of neighbouring sums of a thread.
template <class Config, class Visit>
__device__ __forceinline__ void for_each_pair(float (&sums)[Geometry<Config>::kSlabs][Geometry<Config>::kSums],
                                              const Visit& visit) {
  using G = Geometry<Config>;
#pragma unroll
  for (int slab = 0; slab < G::kSlabs; ++slab) {
#pragma unroll
    for (int group = 0; group < G::kSums / 4; ++group) {
#pragma unroll
      for (int half = 0; half < 2; ++half) visit(slab, group, half, &sums[slab][group * 4 + half * 2]);
    }
  }
}

}  // namespace tilewright::gemm
