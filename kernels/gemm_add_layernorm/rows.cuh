// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/fused/added.cuh"

// y = layernorm(s).
template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::RowsOf<Config>::num_warps * 32)
    gemm_add_layernorm_rows(const typename Config::dtype* s, const typename Config::dtype* weight,
                            const typename Config::dtype* norm_bias, typename Config::dtype* y, float eps, long long m,
                            long long n) {
  tilewright::gemm::norm_rows<Config, tilewright::row::Moments>(s, weight, norm_bias, y, eps, m, n);
}
