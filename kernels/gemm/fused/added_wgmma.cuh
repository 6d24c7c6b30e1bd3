// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "added.cuh"
#include "wgmma.cuh"

// s = a · bᵀ + bias + residual on Hopper's tensor cores: the kernel of gemm/wgmma.cu.
template <class Config>
__global__ void __launch_bounds__(
    tilewright::gemm::Geometry<tilewright::gemm::LinearByMap<tilewright::gemm::Added<Config>>>::kThreads, 1)
    gemm_added_wgmma(const __grid_constant__ tilewright::TensorMap map_a,
                     const __grid_constant__ tilewright::TensorMap map_b,
                     const __grid_constant__ tilewright::TensorMap map_s, const typename Config::dtype* bias,
                     const typename Config::dtype* residual, typename Config::dtype* s, float* partials,
                     unsigned* counters, long long m, long long n, long long k) {
  tilewright::gemm::let_rows_start();
  tilewright::gemm::run<tilewright::gemm::LinearByMap<tilewright::gemm::Added<Config>>>(
      map_a, map_b, map_s, bias, residual, s, partials, counters, m, n, k);
}
