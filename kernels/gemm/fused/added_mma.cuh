// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "added.cuh"
#include "mma.cuh"

// s = a · bᵀ + bias + residual by mma.sync.
template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::MmaGeometry<tilewright::gemm::Added<Config>>::kThreads, 1)
    gemm_added_mma(const typename Config::dtype* a, const typename Config::dtype* b, const typename Config::dtype* bias,
                   const typename Config::dtype* residual, typename Config::dtype* s, float* partial,
                   unsigned* counters, long long m, long long n, long long k) {
  using C = tilewright::gemm::Added<Config>;
  tilewright::gemm::let_rows_start();
  tilewright::gemm::mma_block<C>(a, tilewright::gemm::PlainMmaCopy<C>{{b, n, k}}, {bias, residual, s, m, n}, partial,
                                 counters, m, n, k);
}
