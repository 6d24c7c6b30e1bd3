// SPDX-License-Identifier: Apache-2.0
#pragma once

// The base of gemm/simt.cu for ops around a gemm: blocks take tile after tile of 64 × 64, of any shape.

#include "gemm/simt.cu"

namespace tilewright::gemm {

// Calls compute(tile, buffers, row, column, blocks of k) for each of the block's tiles of m × columns.
template <class Config, class Compute>
__device__ __forceinline__ void simt_tiles(i64 m, i64 columns, i64 k, const Compute& compute) {
  using G = SimtGeometry<Config>;
  static_assert(G::kGoesOn, "blocks take tile after tile");
  auto& storage = *shared_storage<typename G::Storage>();
  SimtTile<Config> tile;
  tile.thread = static_cast<int>(threadIdx.x);
  const SimtPlace<Config> place{m, columns};
  const u32 blocks = static_cast<u32>(ceil_div(k, i64{G::kBlockK}));
  for (i64 number = blockIdx.x; number < place.template tiles<i64>(); number += gridDim.x) {
    compute(tile, storage.buffers, place.row(number), place.column(number), blocks);
  }
}

}  // namespace tilewright::gemm
