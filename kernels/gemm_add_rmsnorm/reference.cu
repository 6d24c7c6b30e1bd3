// SPDX-License-Identifier: Apache-2.0
//
// gemm_add_rmsnorm in fp64, of some of the rows.

#include "gemm/fused/norm_reference.cuh"

template <class Config>
__global__ void gemm_add_rmsnorm_reference(const typename Config::dtype* a, const typename Config::dtype* b,
                                           const typename Config::dtype* bias, const typename Config::dtype* residual,
                                           const typename Config::dtype* weight, double* s, double* y, float eps,
                                           long long m, long long n, long long k) {
  tilewright::gemm::norm_reference<Config, tilewright::row::MeanSquare>(a, b, bias, residual, weight, nullptr, s, y,
                                                                        eps, m, n, k);
}
