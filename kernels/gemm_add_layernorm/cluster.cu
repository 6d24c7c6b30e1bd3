// SPDX-License-Identifier: Apache-2.0
//
// gemm_add_layernorm in one kernel, by clusters that cover rows: gemm/fused/norm_cluster.cuh.

#include "gemm/fused/norm_cluster.cuh"

template <class Config>
__global__ void __launch_bounds__(
    tilewright::gemm::Geometry<tilewright::gemm::LinearByMap<tilewright::gemm::Added<Config>>>::kThreads, 1)
    gemm_add_layernorm_cluster(const __grid_constant__ tilewright::TensorMap map_a,
                               const __grid_constant__ tilewright::TensorMap map_b,
                               const __grid_constant__ tilewright::TensorMap map_s,
                               const __grid_constant__ tilewright::TensorMap map_y, const typename Config::dtype* bias,
                               const typename Config::dtype* residual, const typename Config::dtype* weight,
                               const typename Config::dtype* norm_bias, float eps, long long m, long long n,
                               long long k) {
  tilewright::gemm::norm_cluster<Config, tilewright::row::Moments>(map_a, map_b, map_s, map_y, bias, residual, weight,
                                                                   norm_bias, eps, m, n, k);
}
