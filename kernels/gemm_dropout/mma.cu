// SPDX-License-Identifier: Apache-2.0
//
// gemm_dropout by mma.sync: gemm/mma.cu with the epilogue of output.cuh. sm_80 and later.

#include "gemm/fused/mma.cuh"
#include "output.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::MmaGeometry<tilewright::gemm::Dropping<Config>>::kThreads, 1)
    gemm_dropout_mma(const typename Config::dtype* a, const typename Config::dtype* b,
                     const typename Config::dtype* bias, const typename Config::dtype* residual,
                     typename Config::dtype* c, float* partial, unsigned* counters, long long m, long long n,
                     long long k, float p, unsigned long long seed, unsigned long long offset) {
  using namespace tilewright;
  using C = gemm::Dropping<Config>;
  const gemm::Output<C> output(bias, residual, c, m, n, Dropout(p, seed, offset));
  gemm::mma_block<C>(a, gemm::PlainMmaCopy<C>{{b, n, k}}, output, partial, counters, m, n, k);
}
