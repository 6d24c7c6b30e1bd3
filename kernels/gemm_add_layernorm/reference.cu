// SPDX-License-Identifier: Apache-2.0
//
// gemm_add_layernorm in fp64, of some of the rows.

#include "gemm/fused/norm_reference.cuh"

template <class Config>
__global__ void gemm_add_layernorm_reference(const typename Config::dtype* a, const typename Config::dtype* b,
                                             const typename Config::dtype* bias, const typename Config::dtype* residual,
                                             const typename Config::dtype* weight,
                                             const typename Config::dtype* norm_bias, double* s, double* y, float eps,
                                             long long m, long long n, long long k) {
  tilewright::gemm::norm_reference<Config, tilewright::row::Moments>(a, b, bias, residual, weight, norm_bias, s, y, eps,
                                                                     m, n, k);
}
