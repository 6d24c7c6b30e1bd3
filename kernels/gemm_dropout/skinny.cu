// SPDX-License-Identifier: Apache-2.0
//
// gemm_dropout for few rows: gemm/skinny.cu with the epilogue of output.cuh. sm_80 and later; with clusters sm_90.

#include "gemm/fused/skinny.cuh"
#include "output.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::SkinnyGeometry<tilewright::gemm::Dropping<Config>>::kThreads,
                                  Config::blocks)
    gemm_dropout_skinny(const typename Config::dtype* a, const typename Config::dtype* b,
                        const typename Config::dtype* bias, const typename Config::dtype* residual,
                        typename Config::dtype* c, float* partials, unsigned* counters, long long m, long long n,
                        long long k, float p, unsigned long long seed, unsigned long long offset) {
  using namespace tilewright;
  using C = gemm::Dropping<Config>;
  using G = gemm::SkinnyGeometry<C>;
  const u32 pieces = static_cast<u32>(ceil_div(n, i64{G::kBlockN})) * G::kSplits;
  gemm::SkinnyCopies<C> copies(a, b, m, n, k, pieces, static_cast<int>(threadIdx.x));
  gemm::skinny_block<C>(copies, gemm::Output<C>(bias, residual, c, m, n, Dropout(p, seed, offset)), partials, counters,
                        n, k);
}
