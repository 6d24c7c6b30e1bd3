// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "added.cuh"
#include "skinny.cuh"

// s = a · bᵀ + bias + residual for few rows.
template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::SkinnyGeometry<tilewright::gemm::Added<Config>>::kThreads,
                                  Config::blocks)
    gemm_added_skinny(const typename Config::dtype* a, const typename Config::dtype* b,
                      const typename Config::dtype* bias, const typename Config::dtype* residual,
                      typename Config::dtype* s, float* partials, unsigned* counters, long long m, long long n,
                      long long k) {
  using namespace tilewright;
  using C = gemm::Added<Config>;
  using G = gemm::SkinnyGeometry<C>;
  gemm::let_rows_start();
  const u32 pieces = static_cast<u32>(ceil_div(n, i64{G::kBlockN})) * G::kSplits;
  gemm::SkinnyCopies<C> copies(a, b, m, n, k, pieces, static_cast<int>(threadIdx.x));
  gemm::skinny_block<C>(copies, {bias, residual, s, m, n}, partials, counters, n, k);
}
