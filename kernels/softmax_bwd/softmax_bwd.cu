// SPDX-License-Identifier: Apache-2.0
//
// The gradient of a row softmax: dx[r][c] = y[r][c] · (dy[r][c] - s_r), s_r = sum over c of y[r][c] · dy[r][c]; y is
// the softmax's output.
//
//   y, dy, dx   rows × cols with row pitches; dx may be dy or y itself, with the same pitch; any rows ≥ 1, any cols ≥ 1
//
// By the skeletons of device/row/weighed.cuh and weighed_cluster.cuh: resident, cluster, reread. Computed in fp32,
// rounded once.

#include "device/row/weighed.cuh"
#include "device/row/weighed_cluster.cuh"

namespace tilewright::row {

template <class Element>
struct SoftmaxGradient {
  using T = Element;
  enum : int { kInputs = 2, kOutputs = 1 };

  RowTensors<T, kInputs, 0, kOutputs> tensors;  // y, dy; dx

  __device__ __forceinline__ float term(const float (&in)[kInputs]) const { return in[0] * in[1]; }
  __device__ __forceinline__ float scale(float sum, i64) const { return sum; }
  __device__ __forceinline__ void results(const float (&in)[kInputs], float sum, float (&out)[kOutputs]) const {
    out[0] = in[0] * (in[1] - sum);
  }
};

}  // namespace tilewright::row

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    softmax_bwd(long long rows, long long cols, const typename Config::dtype* y, const typename Config::dtype* dy,
                typename Config::dtype* dx, long long y_pitch, long long dy_pitch, long long dx_pitch) {
  using namespace tilewright;
  row::SoftmaxGradient<typename Config::dtype> op;
  op.tensors.inputs[0] = row::matrix<Config>(y, y_pitch, cols);
  op.tensors.inputs[1] = row::matrix<Config>(dy, dy_pitch, cols);
  op.tensors.outputs[0] = row::matrix<Config>(dx, dx_pitch, cols);
  if constexpr (Config::implementation == "cluster") {
    row::weighed_cluster<Config>(op, cols);
  } else {
    row::weighed<Config>(op, rows, cols);
  }
}

// The reference, in fp64: a warp per row.
template <class Config>
__global__ void softmax_bwd_reference(const typename Config::dtype* y, const typename Config::dtype* dy, double* dx,
                                      long long y_pitch, long long dy_pitch, long long dx_pitch, long long rows,
                                      long long cols) {
  using namespace tilewright;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize);
  const i64 warp = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (i64 r = warp; r < rows; r += warps) {
    const auto* const y_row = row::matrix<Config>(y, y_pitch, cols).row(r);
    const auto* const dy_row = row::matrix<Config>(dy, dy_pitch, cols).row(r);
    double* const dx_row = row::matrix<Config>(dx, dx_pitch, cols).row(r);
    double sum = 0.0;
    for (i64 c = lane; c < cols; c += kWarpSize) sum += double{to_float(y_row[c])} * double{to_float(dy_row[c])};
    sum = reduce_lanes<kWarpSize>(sum, Sum{});
    for (i64 c = lane; c < cols; c += kWarpSize) {
      dx_row[c] = double{to_float(y_row[c])} * (double{to_float(dy_row[c])} - sum);
    }
  }
}
