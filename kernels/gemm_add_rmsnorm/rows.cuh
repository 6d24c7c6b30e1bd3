// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/fused/added.cuh"

// y = rmsnorm(s).
template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::RowsOf<Config>::num_warps * 32)
    gemm_add_rmsnorm_rows(const typename Config::dtype* s, const typename Config::dtype* weight,
                          typename Config::dtype* y, float eps, long long m, long long n) {
  tilewright::gemm::norm_rows<Config, tilewright::row::MeanSquare>(s, weight, nullptr, y, eps, m, n);
}
