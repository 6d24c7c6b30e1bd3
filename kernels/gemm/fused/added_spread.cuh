// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "added.cuh"
#include "device/ptx/prefetch.cuh"
#include "wgmma.cuh"

namespace tilewright::gemm {

// Prefetches a line of each tensor into L2, one line per block.
template <class T>
__device__ __forceinline__ void ask_for_columns(const T* weight, const T* norm_bias, i64 n) {
  constexpr i64 kLine = 128 / sizeof(T);
  const i64 column = i64{blockIdx.x} * kLine;
  if (threadIdx.x != kWarpSize || column >= n) return;
  ptx::prefetch_l2(weight + column);
  if (norm_bias != weight) ptx::prefetch_l2(norm_bias + column);
}

}  // namespace tilewright::gemm

// s = a · bᵀ + bias + residual as in added_wgmma.cuh, for so few rows that the norm behind would wait for its weights:
// they, and the norm's bias if it is another tensor, are prefetched into L2.
template <class Config>
__global__ void __launch_bounds__(
    tilewright::gemm::Geometry<tilewright::gemm::LinearByMap<tilewright::gemm::Added<Config>>>::kThreads, 1)
    gemm_added_spread(const __grid_constant__ tilewright::TensorMap map_a,
                      const __grid_constant__ tilewright::TensorMap map_b,
                      const __grid_constant__ tilewright::TensorMap map_s, const typename Config::dtype* bias,
                      const typename Config::dtype* residual, typename Config::dtype* s,
                      const typename Config::dtype* weight, const typename Config::dtype* norm_bias, float* partials,
                      unsigned* counters, long long m, long long n, long long k) {
  tilewright::gemm::let_rows_start();
  tilewright::gemm::ask_for_columns(weight, norm_bias, n);
  tilewright::gemm::run<tilewright::gemm::LinearByMap<tilewright::gemm::Added<Config>>>(
      map_a, map_b, map_s, bias, residual, s, partials, counters, m, n, k);
}
