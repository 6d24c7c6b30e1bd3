// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gated products by simt.cuh: a tile of gates, then a tile of ups.

#include "gated.cuh"
#include "simt.cuh"

namespace tilewright::gemm {

template <class Config>
__device__ __forceinline__ void gated_simt(const typename Config::dtype* a,
                                           const GatedWeights<typename Config::dtype>& weights,
                                           const GatedResults<Config>& results, i64 m, i64 n, i64 k) {
  using C = Gating<Config>;
  simt_tiles<C>(m, n, k, [&](SimtTile<C>& gate, auto& buffers, i64 row, i64 column, u32 blocks) {
    SimtTile<C> up;
    up.thread = gate.thread;
    // The operand's k serves as its row pitch here.
    gate.compute(buffers, {a, m, k}, {weights.gate, n, weights.pitch}, row, column, 0, blocks);
    up.compute(buffers, {a, m, k}, {weights.up, n, weights.pitch}, row, column, 0, blocks);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const i64 at_row = row + gate.row() + i / 4 * 16 + i % 4,
                  at_column = column + gate.column() + j / 4 * 32 + j % 4;
        float one_gate[1] = {gate.sums[i][j]}, one_up[1] = {up.sums[i][j]};
        if (at_row < m && at_column < n) results.store(one_gate, one_up, at_row, at_column);
      }
    }
  });
}

}  // namespace tilewright::gemm
