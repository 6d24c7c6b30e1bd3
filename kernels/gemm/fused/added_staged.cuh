// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "added.cuh"
#include "added_spread.cuh"
#include "staged.cuh"

// s = a · bᵀ + bias + residual on Hopper's tensor cores, with the residual in shared memory before the sums are there.
// The norm's weights are prefetched into L2, and its bias if it is another tensor: behind few rows it would wait for
// them.
template <class Config>
__global__ void __launch_bounds__(
    tilewright::gemm::Geometry<tilewright::gemm::Staged<tilewright::gemm::Added<Config>>>::kThreads, 1)
    gemm_added_staged(const __grid_constant__ tilewright::TensorMap map_a,
                      const __grid_constant__ tilewright::TensorMap map_b,
                      const __grid_constant__ tilewright::TensorMap map_residual,
                      const __grid_constant__ tilewright::TensorMap map_s, const typename Config::dtype* bias,
                      const typename Config::dtype* residual, const typename Config::dtype* weight,
                      const typename Config::dtype* norm_bias, long long m, long long n, long long k) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using C = Staged<Added<Config>>;
  let_rows_start();
  ask_for_columns(weight, norm_bias, n);
  run_staged<C>(map_a, map_b, map_residual, map_s, residual, m, n, k,
                [&](auto& storage, int warpgroup, int warp, int lane) {
                  return StagedTail<C>{storage, bias, n, warpgroup, warp, lane};
                });
}
