// SPDX-License-Identifier: Apache-2.0
//
// Row softmax: y[r][c] = exp(x[r][c] - m_r) / s_r, m_r = max over c of x[r][c], s_r = sum over c of exp(x[r][c] - m_r).
//
//   x, y   rows × cols with row pitches; y may be x itself, with the same pitch; any rows ≥ 1, any cols ≥ 1
//   -inf   entries give 0; a row of -inf alone gives NaN, as does a row with NaN or +inf
//
// By the skeletons of device/row: onchip, staged, cluster, streaming. Computed in fp32.

#include "device/math.cuh"
#include "device/row/exponentials.cuh"
#include "device/row/run.cuh"

namespace tilewright::row {

template <class Element>
struct Softmax {
  using T = Element;
  using Statistics = Exponentials<T>;
  using Partial = typename Statistics::Partial;
  enum : int { kInputs = 1, kColumns = 0, kOutputs = 1 };
  struct Scale {
    float max;
    float factor;     // rescaling / sum, rounded
    float remainder;  // the error of that rounding, for fp32
  };

  RowTensors<T, kInputs, kColumns, kOutputs> tensors;

  __device__ static __forceinline__ float pad() { return -kInfinity; }
  __device__ __forceinline__ float value(const float (&in)[1]) const { return in[0]; }

  // Held values are exponentials already, relative to the maximum of their lanes.
  template <bool kHeld>
  __device__ __forceinline__ Scale scale(const Partial& own, const Partial& whole, i64) const {
    const float rescaling = kHeld ? Statistics::rescaling(own.max, whole.max) : 1.0f;
    const float inverse = divide_for<T>(1.0f, whole.sum);
    const float factor = rescaling * inverse;
    return {whole.max, factor, is_same<T, float> ? fmaf(-factor, whole.sum, rescaling) * inverse : 0.0f};
  }

  template <bool kHeld, int kCount>
  __device__ __forceinline__ void results(const float (&values)[kCount], const Scale& scale, const float (&)[1][kCount],
                                          float (&out)[1][kCount]) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) out[0][k] = values[k];
    if constexpr (!kHeld) Statistics::exponentials(out[0], scale.max);
#pragma unroll
    for (int k = 0; k < kCount; ++k) out[0][k] = quotient(out[0][k], scale);
  }

 private:
  // value · rescaling / sum. For fp32 the factor is two floats, so that the result is rounded once, about as a quotient
  // is; a sum of 0, NaN or infinity gives NaN.
  __device__ static __forceinline__ float quotient(float value, const Scale& scale) {
    if constexpr (is_same<T, float>) {
      return fmaf(value, scale.factor, value * scale.remainder);
    } else {
      return value * scale.factor;
    }
  }
};

}  // namespace tilewright::row

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, tilewright::row::blocks_per_sm<Config>())
    softmax(long long rows, long long cols, const typename Config::dtype* x, typename Config::dtype* y,
            long long x_pitch, long long y_pitch) {
  using namespace tilewright;
  row::Softmax<typename Config::dtype> op;
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.outputs[0] = row::matrix<Config>(y, y_pitch, cols);
  row::run<Config>(op, rows, cols);
}

// The reference, in fp64: a warp per row.
template <class Config>
__global__ void softmax_reference(const typename Config::dtype* x, double* y, long long x_pitch, long long y_pitch,
                                  long long rows, long long cols) {
  using namespace tilewright;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize);
  const i64 warp = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (i64 r = warp; r < rows; r += warps) {
    const auto* const row = row::matrix<Config>(x, x_pitch, cols).row(r);
    double* const result = row::matrix<Config>(y, y_pitch, cols).row(r);
    float max = -kInfinity;
    for (i64 c = lane; c < cols; c += kWarpSize) max = fmaxf(max, to_float(row[c]));
    max = reduce_lanes<kWarpSize>(max, Max{});
    double sum = 0.0;
    for (i64 c = lane; c < cols; c += kWarpSize) sum += exp(double{to_float(row[c])} - double{max});
    sum = reduce_lanes<kWarpSize>(sum, Sum{});
    for (i64 c = lane; c < cols; c += kWarpSize) result[c] = exp(double{to_float(row[c])} - double{max}) / sum;
  }
}
