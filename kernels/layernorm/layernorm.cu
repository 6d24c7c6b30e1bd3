// SPDX-License-Identifier: Apache-2.0
//
// Row norm: y = (x - mean) / sqrt(variance + eps) · weight + bias for each row
//
//   x, y   rows × cols with row pitches; y may be x itself, with the same pitch
//   weight, bias   cols
//
// By the skeletons of device/row: onchip, staged, cluster, streaming. Computed in fp32.

#include "device/row/norm.cuh"
#include "device/row/run.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, tilewright::row::blocks_per_sm<Config>())
    layernorm(long long rows, long long cols, const typename Config::dtype* x, const typename Config::dtype* weight,
              const typename Config::dtype* bias, typename Config::dtype* y, float eps, long long x_pitch,
              long long y_pitch) {
  using namespace tilewright;
  constexpr row::NormParts kParts{.bias = true};
  row::Norm<typename Config::dtype, row::Moments, kParts> op;
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.columns[0] = weight;
  op.tensors.columns[1] = bias;
  op.tensors.outputs[0] = row::matrix<Config>(y, y_pitch, cols);
  op.eps = eps;
  row::run<Config>(op, rows, cols);
}

template <class Config>
__global__ void layernorm_reference(const typename Config::dtype* x, const typename Config::dtype* weight,
                                    const typename Config::dtype* bias, double* y, float eps, long long x_pitch,
                                    long long y_pitch, long long rows, long long cols) {
  using namespace tilewright;
  row::norm_reference<row::Moments, false, typename Config::dtype>(row::matrix<Config>(x, x_pitch, cols), {}, weight,
                                                                   bias, row::matrix<Config>(y, y_pitch, cols), {},
                                                                   double{eps}, rows, cols);
}
