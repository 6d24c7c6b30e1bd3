// SPDX-License-Identifier: Apache-2.0
//
// gemm with a residual on Hopper's tensor cores, the residual ahead: fused/staged.cuh with the epilogue of gemm.

#include "fused/staged.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::Geometry<tilewright::gemm::Staged<Config>>::kThreads, 1)
    gemm_staged(const __grid_constant__ tilewright::TensorMap map_a,
                const __grid_constant__ tilewright::TensorMap map_b,
                const __grid_constant__ tilewright::TensorMap map_residual,
                const __grid_constant__ tilewright::TensorMap map_c, const typename Config::dtype* bias,
                const typename Config::dtype* residual, long long m, long long n, long long k) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using C = Staged<Config>;
  run_staged<C>(map_a, map_b, map_residual, map_c, residual, m, n, k,
                [&](auto& storage, int warpgroup, int warp, int lane) {
                  return StagedTail<C>{storage, bias, n, warpgroup, warp, lane};
                });
}
