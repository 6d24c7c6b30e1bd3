// SPDX-License-Identifier: Apache-2.0
//
// y[r][c] = x[r][c] / sqrt(sum over c of x[r][c]² + eps), by the skeletons of device/row, in fp32.
//
//   x, y   rows × cols with row pitches; y may be x itself, with the same pitch; any rows ≥ 1, any cols ≥ 1

#include "device/math.cuh"
#include "device/reduce.cuh"
#include "device/row/mean_square.cuh"
#include "device/row/run.cuh"

// What device/row/tensors.cuh asks of a row op.
template <class Element>
struct L2Norm {
  using T = Element;
  using Statistics = tilewright::row::MeanSquare;  // the sum of the squares of a row
  using Partial = typename Statistics::Partial;
  enum : int { kInputs = 1, kColumns = 0, kOutputs = 1 };

  tilewright::row::RowTensors<T, kInputs, kColumns, kOutputs> tensors;
  float eps;

  __device__ static __forceinline__ float pad() { return 0.0f; }
  __device__ __forceinline__ float value(const float (&in)[1]) const { return in[0]; }

  template <bool kHeld>
  __device__ __forceinline__ float scale(const Partial&, const Partial& whole, long long) const {
    return tilewright::rsqrt_for<T>(whole.sum + eps);
  }

  template <bool kHeld, int kCount>
  __device__ __forceinline__ void results(const float (&values)[kCount], float scale, const float (&)[1][kCount],
                                          float (&out)[1][kCount]) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) out[0][k] = values[k] * scale;
  }
};

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, tilewright::row::blocks_per_sm<Config>())
    l2norm(const typename Config::dtype* x, typename Config::dtype* y, float eps, long long x_pitch, long long y_pitch,
           long long rows, long long cols) {
  using namespace tilewright;
  L2Norm<typename Config::dtype> op;
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.outputs[0] = row::matrix<Config>(y, y_pitch, cols);
  op.eps = eps;
  row::run<Config>(op, rows, cols);
}

// What is right: a warp a row, everything in fp64.
template <class Config>
__global__ void l2norm_reference(const typename Config::dtype* x, double* y, float eps, long long x_pitch,
                                 long long y_pitch, long long rows, long long cols) {
  using namespace tilewright;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const long long warps = 1LL * gridDim.x * (blockDim.x / kWarpSize);
  const long long warp = 1LL * blockIdx.x * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (long long r = warp; r < rows; r += warps) {
    const auto* const row = row::matrix<Config>(x, x_pitch, cols).row(r);
    double* const result = row::matrix<Config>(y, y_pitch, cols).row(r);
    double sum = 0.0;
    for (long long c = lane; c < cols; c += kWarpSize) sum += double{to_float(row[c])} * double{to_float(row[c])};
    sum = reduce_lanes<kWarpSize>(sum, Sum{});
    for (long long c = lane; c < cols; c += kWarpSize) result[c] = double{to_float(row[c])} / sqrt(sum + double{eps});
  }
}
