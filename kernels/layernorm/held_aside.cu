// SPDX-License-Identifier: Apache-2.0
//
// Row norm by threads that hold several rows, with the weights in shared memory: device/row/held.cuh.

#include "device/row/held.cuh"
#include "device/row/norm.cuh"
#include "device/row/own_columns_aside.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, tilewright::row::held_blocks<Config>())
    layernorm_held_aside(long long rows, long long cols, const typename Config::dtype* x,
                         const typename Config::dtype* weight, const typename Config::dtype* bias,
                         typename Config::dtype* y, float eps, long long x_pitch, long long y_pitch) {
  using namespace tilewright;
  constexpr row::NormParts kParts{.bias = true};
  row::Norm<typename Config::dtype, row::Moments, kParts> op;
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.columns[0] = weight;
  op.tensors.columns[1] = bias;
  op.tensors.outputs[0] = row::matrix<Config>(y, y_pitch, cols);
  op.eps = eps;
  row::held<Config>(op, rows, cols);
}
