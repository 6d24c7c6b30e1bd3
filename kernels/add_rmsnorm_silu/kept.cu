// SPDX-License-Identifier: Apache-2.0
//
// silu of the row norm of x + residual by clusters whose threads keep their columns and weights: device/row/kept.cuh.

#include "device/row/kept.cuh"
#include "device/row/norm.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    add_rmsnorm_silu_kept(long long rows, long long cols, const typename Config::dtype* x,
                          const typename Config::dtype* residual, const typename Config::dtype* weight,
                          typename Config::dtype* y, float eps, long long x_pitch, long long residual_pitch,
                          long long y_pitch) {
  using namespace tilewright;
  constexpr row::NormParts kParts{.residual = true, .silu = true};
  row::Norm<typename Config::dtype, row::MeanSquare, kParts> op;
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.inputs[1] = row::matrix<Config>(residual, residual_pitch, cols);
  op.tensors.columns[0] = weight;
  op.tensors.outputs[0] = row::matrix<Config>(y, y_pitch, cols);
  op.eps = eps;
  row::kept<Config>(op, rows, cols);
}
