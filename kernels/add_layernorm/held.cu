// SPDX-License-Identifier: Apache-2.0
//
// Row norm of x + residual by threads that hold several rows and their columns' weights: device/row/held.cuh.

#include "device/row/held.cuh"
#include "device/row/norm.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, tilewright::row::held_blocks<Config>())
    add_layernorm_held(long long rows, long long cols, const typename Config::dtype* x,
                       const typename Config::dtype* residual, const typename Config::dtype* weight,
                       const typename Config::dtype* bias, typename Config::dtype* sum, typename Config::dtype* y,
                       float eps, long long x_pitch, long long residual_pitch, long long sum_pitch, long long y_pitch) {
  using namespace tilewright;
  constexpr row::NormParts kParts{.residual = true, .bias = true, .sum = Config::store == "yes"};
  row::Norm<typename Config::dtype, row::Moments, kParts> op;
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.inputs[1] = row::matrix<Config>(residual, residual_pitch, cols);
  op.tensors.columns[0] = weight;
  op.tensors.columns[1] = bias;
  op.tensors.outputs[0] = row::matrix<Config>(y, y_pitch, cols);
  if constexpr (kParts.sum) op.tensors.outputs[1] = row::matrix<Config>(sum, sum_pitch, cols);
  op.eps = eps;
  row::held<Config>(op, rows, cols);
}
