// SPDX-License-Identifier: Apache-2.0
//
// gemm_dropout without tensor cores, the fallback: the base of gemm/simt.cu with the epilogue of output.cuh. sm_80 and
// later.

#include "gemm/fused/simt.cuh"
#include "output.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::SimtGeometry<tilewright::gemm::Dropping<Config>>::kThreads,
                                  tilewright::gemm::SimtGeometry<tilewright::gemm::Dropping<Config>>::kBlocks)
    gemm_dropout_simt(const typename Config::dtype* a, const typename Config::dtype* b,
                      const typename Config::dtype* bias, const typename Config::dtype* residual,
                      typename Config::dtype* c, long long m, long long n, long long k, float p,
                      unsigned long long seed, unsigned long long offset) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using C = Dropping<Config>;
  const Output<C> output(bias, residual, c, m, n, Dropout(p, seed, offset));
  simt_tiles<C>(m, n, k, [&](SimtTile<C>& tile, auto& buffers, i64 row, i64 column, u32 blocks) {
    tile.compute(buffers, {a, m, k}, {b, n, k}, row, column, 0, blocks);
    tile.store(output, row, column);
  });
}
