// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "added.cuh"
#include "simt.cuh"

// s = a · bᵀ + bias + residual without tensor cores: any shape and address.
template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::SimtGeometry<tilewright::gemm::Added<Config>>::kThreads,
                                  tilewright::gemm::SimtGeometry<tilewright::gemm::Added<Config>>::kBlocks)
    gemm_added_simt(const typename Config::dtype* a, const typename Config::dtype* b,
                    const typename Config::dtype* bias, const typename Config::dtype* residual,
                    typename Config::dtype* s, long long m, long long n, long long k) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using C = Added<Config>;
  let_rows_start();
  simt_tiles<C>(m, n, k, [&](SimtTile<C>& tile, auto& buffers, i64 row, i64 column, u32 blocks) {
    tile.compute(buffers, {a, m, k}, {b, n, k}, row, column, 0, blocks);
    tile.store({bias, residual, s, m, n}, row, column);
  });
}
