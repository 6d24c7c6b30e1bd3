// SPDX-License-Identifier: Apache-2.0
//
// Row norm by clusters whose threads keep their columns and weights: device/row/kept.cuh.

#include "device/row/kept.cuh"
#include "device/row/moments_talk.cuh"
#include "device/row/norm.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    layernorm_kept(long long rows, long long cols, const typename Config::dtype* x,
                   const typename Config::dtype* weight, const typename Config::dtype* bias, typename Config::dtype* y,
                   float eps, long long x_pitch, long long y_pitch) {
  using namespace tilewright;
  constexpr row::NormParts kParts{.bias = true};
  row::Norm<typename Config::dtype, row::Moments, kParts> op;
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.columns[0] = weight;
  op.tensors.columns[1] = bias;
  op.tensors.outputs[0] = row::matrix<Config>(y, y_pitch, cols);
  op.eps = eps;
  row::kept<Config>(op, rows, cols);
}
