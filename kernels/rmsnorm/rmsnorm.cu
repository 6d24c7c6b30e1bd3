// SPDX-License-Identifier: Apache-2.0
//
// Row norm: y = x / sqrt(mean of x² + eps) · weight for each row
//
//   x, y   rows × cols with row pitches; y may be x itself, with the same pitch
//   weight   cols
//
// By the skeletons of device/row: onchip, staged, cluster, streaming. Computed in fp32.

#include "device/row/norm.cuh"
#include "device/row/run.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, tilewright::row::blocks_per_sm<Config>())
    rmsnorm(long long rows, long long cols, const typename Config::dtype* x, const typename Config::dtype* weight,
            typename Config::dtype* y, float eps, long long x_pitch, long long y_pitch) {
  using namespace tilewright;
  constexpr row::NormParts kParts{};
  row::Norm<typename Config::dtype, row::MeanSquare, kParts> op;
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.columns[0] = weight;
  op.tensors.outputs[0] = row::matrix<Config>(y, y_pitch, cols);
  op.eps = eps;
  row::run<Config>(op, rows, cols);
}

template <class Config>
__global__ void rmsnorm_reference(const typename Config::dtype* x, const typename Config::dtype* weight, double* y,
                                  float eps, long long x_pitch, long long y_pitch, long long rows, long long cols) {
  using namespace tilewright;
  row::norm_reference<row::MeanSquare, false, typename Config::dtype>(row::matrix<Config>(x, x_pitch, cols), {}, weight,
                                                                      nullptr, row::matrix<Config>(y, y_pitch, cols),
                                                                      {}, double{eps}, rows, cols);
}
