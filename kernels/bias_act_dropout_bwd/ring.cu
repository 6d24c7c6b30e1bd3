// SPDX-License-Identifier: Apache-2.0
//
// The gradient of bias_act_dropout_bwd.cu, with rows on the way to shared memory, by the skeleton
// device/elementwise/ring_strips.cuh. Rows are whole vectors at aligned addresses. The slope's factor includes
// dropout's scale.

#include "device/activation_slope.cuh"
#include "device/dropout_mask.cuh"
#include "device/elementwise/ring_strips.cuh"
#include "device/row/gradient_sums.cuh"

namespace bias_act_dropout_bwd {

// act'(x) · factor. For gelu, x (1 - s) is x - x s, one instruction less than in device/activation_slope.cuh: if the
// two cancel, their error is small beside the 1 that is added to the product.
template <class Config>
__device__ __forceinline__ float slope_times(float x, float factor) {
  using namespace tilewright;
  using T = typename Config::dtype;
  if constexpr (!is_same<T, float> && Config::act == "gelu") {
    constexpr float kEnd = 10.0f;
    constexpr float kLinear = static_cast<float>(-detail::kGelu);
    constexpr float kCubic = static_cast<float>(-detail::kGelu * detail::kGeluCubic);
    constexpr float kLog2E = static_cast<float>(detail::kLog2E);
    x = detail::held_within(x, kEnd);
    const float square = x * x;
    const float small = ptx::ex2_approx(x * fmaf(-kLog2E * kCubic, square, -kLog2E * kLinear));
    const float s = ptx::rcp_approx(1.0f + small);
    return s * fmaf(fmaf(-x, s, x), fmaf(3.0f * kCubic * factor, square, kLinear * factor), factor);
  } else {
    return activation_slope_times<Config, T>(x, factor);
  }
}

template <class Config>
struct RingGradient {
  using T = typename Config::dtype;
  enum : int { kInputs = 2 };

  tilewright::row::RowTensors<T, kInputs, 1, 1> tensors;  // x, dy; bias; dx
  tilewright::DropoutMask mask;
  float scale, factor;

  template <int N>
  __device__ __forceinline__ void results(const float (&in)[kInputs][N], const float (&bias)[N], long long row,
                                          long long column, float (&out)[N]) const {
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float z = fmaf(in[0][j], scale, bias[j] * scale);
      out[j] = in[1][j] * slope_times<Config>(z, factor);
    }
    mask.apply(out, row, column);
  }
};

}  // namespace bias_act_dropout_bwd

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    bias_act_dropout_bwd_ring(long long rows, long long cols, const typename Config::dtype* x,
                              const typename Config::dtype* bias, const typename Config::dtype* dy,
                              typename Config::dtype* dx, float* partials, long long* parts, float scale, float p,
                              unsigned long long seed, unsigned long long offset, long long x_pitch, long long dy_pitch,
                              long long dx_pitch) {
  using namespace tilewright;
  const DropoutMask mask(p, seed, offset);
  bias_act_dropout_bwd::RingGradient<Config> op{{}, mask, scale, scale * mask.scale()};
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.inputs[1] = row::matrix<Config>(dy, dy_pitch, cols);
  op.tensors.columns[0] = bias;
  op.tensors.outputs[0] = row::matrix<Config>(dx, dx_pitch, cols);
  elementwise::ring_strips<Config>(op, {partials, parts, cols}, rows, cols);
}

template <class Config>
__global__ void __launch_bounds__(tilewright::row::sum_threads<Config>())
    bias_act_dropout_bwd_ring_sums(float* partials, long long* parts, float* dbias, long long cols) {
  using namespace tilewright;
  row::sum_parts<1, 1, row::sum_threads<Config>()>({partials, parts, cols}, {dbias});
}

template <class Config>
__global__ void __launch_bounds__(tilewright::row::kWideSumThreads)
    bias_act_dropout_bwd_ring_sums_wide(float* partials, long long* parts, float* dbias, long long cols) {
  using namespace tilewright;
  row::sum_parts<1, 4, row::kWideSumThreads>({partials, parts, cols}, {dbias});
}
