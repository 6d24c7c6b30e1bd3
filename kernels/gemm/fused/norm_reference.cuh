// SPDX-License-Identifier: Apache-2.0
#pragma once

// The norms behind a gemm in fp64: a warp per row, for the rows that is_row_sampled() picks.

#include "added.cuh"
#include "reference.cuh"

namespace tilewright::gemm {

template <class Config, class Statistics>
__device__ __forceinline__ void norm_reference(const typename Config::dtype* a, const typename Config::dtype* b,
                                               const typename Config::dtype* bias,
                                               const typename Config::dtype* residual,
                                               const typename Config::dtype* weight,
                                               const typename Config::dtype* norm_bias, double* s, double* y, float eps,
                                               i64 m, i64 n, i64 k) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize);
  for (i64 row = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize; row < m; row += warps) {
    if (!is_row_sampled(row, m, n, k)) continue;
    double* const of_row = s + row * n;
    double sum = 0.0;
    for (i64 column = lane; column < n; column += kWarpSize) {
      double value = exact_product(a + row * k, b + column * k, k) + double{to_float(residual[row * n + column])};
      if constexpr (Config::bias == "yes") value += double{to_float(bias[column])};
      of_row[column] = value;
      sum += value;
    }
    const double columns = static_cast<double>(n);
    const double mean = is_same<Statistics, row::Moments> ? reduce_lanes<kWarpSize>(sum, Sum{}) / columns : 0.0;
    double squares = 0.0;
    for (i64 column = lane; column < n; column += kWarpSize) {
      squares += (of_row[column] - mean) * (of_row[column] - mean);
    }
    const double rstd = 1.0 / sqrt(reduce_lanes<kWarpSize>(squares, Sum{}) / columns + double{eps});
    for (i64 column = lane; column < n; column += kWarpSize) {
      y[row * n + column] = (of_row[column] - mean) * rstd * double{to_float(weight[column])} +
                            (norm_bias != nullptr ? double{to_float(norm_bias[column])} : 0.0);
    }
  }
}

}  // namespace tilewright::gemm
