// SPDX-License-Identifier: Apache-2.0
//
// Row norm: with v = x + residual, y = v / sqrt(mean of v² + eps) · weight for each row
//
//   x, residual, sum, y   rows × cols with row pitches; y may be x, with the same pitch; with store=yes sum gets v
//                         and may be the residual
//   weight   cols
//
// By the skeletons of device/row: onchip, staged, cluster, streaming. Computed in fp32.

#include "device/row/norm.cuh"
#include "device/row/run.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, tilewright::row::blocks_per_sm<Config>())
    add_rmsnorm(long long rows, long long cols, const typename Config::dtype* x, const typename Config::dtype* residual,
                const typename Config::dtype* weight, typename Config::dtype* sum, typename Config::dtype* y, float eps,
                long long x_pitch, long long residual_pitch, long long sum_pitch, long long y_pitch) {
  using namespace tilewright;
  constexpr row::NormParts kParts{.residual = true, .sum = Config::store == "yes"};
  row::Norm<typename Config::dtype, row::MeanSquare, kParts> op;
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.inputs[1] = row::matrix<Config>(residual, residual_pitch, cols);
  op.tensors.columns[0] = weight;
  op.tensors.outputs[0] = row::matrix<Config>(y, y_pitch, cols);
  if constexpr (kParts.sum) op.tensors.outputs[1] = row::matrix<Config>(sum, sum_pitch, cols);
  op.eps = eps;
  row::run<Config>(op, rows, cols);
}

template <class Config>
__global__ void add_rmsnorm_reference(const typename Config::dtype* x, const typename Config::dtype* residual,
                                      const typename Config::dtype* weight, double* sum, double* y, float eps,
                                      long long x_pitch, long long residual_pitch, long long sum_pitch,
                                      long long y_pitch, long long rows, long long cols) {
  using namespace tilewright;
  row::norm_reference<row::MeanSquare, false, typename Config::dtype>(
      row::matrix<Config>(x, x_pitch, cols), row::matrix<Config>(residual, residual_pitch, cols), weight, nullptr,
      row::matrix<Config>(y, y_pitch, cols), row::matrix<Config>(sum, sum_pitch, cols), double{eps}, rows, cols);
}
