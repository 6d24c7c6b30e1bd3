// SPDX-License-Identifier: Apache-2.0
//
// The gradient of layernorm for dense rows that are not whole vectors, by device/row/ragged_rows.cuh; layernorm_bwd.cu
// has the formulas.

#include "device/row/ragged_rows.cuh"
#include "layernorm_bwd/layernorm_bwd.cu"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    layernorm_bwd_ragged(long long rows, long long cols, const typename Config::dtype* x,
                         const typename Config::dtype* dy, const typename Config::dtype* weight,
                         typename Config::dtype* dx, float* partials, long long* parts, float eps,
                         const typename Config::dtype* dsum) {
  using namespace tilewright;
  row::ragged_rows<Config>(gradient<Config>(x, weight, dy, dsum, dx, eps, 0, 0, 0, 0, cols), {partials, parts, cols},
                           rows, cols);
}
