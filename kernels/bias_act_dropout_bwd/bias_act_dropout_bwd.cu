// SPDX-License-Identifier: Apache-2.0
//
// The gradient of y = dropout(act(z)), z = (x + bias) · scale (../bias_act_dropout/bias_act_dropout.cu):
//
//   dx[r][c] = dropout(dy)[r][c] · act'(z[r][c]) · scale        dbias[c] = Σ over r of dx[r][c]
//
// The mask is computed again (device/dropout.cuh). x, dy and dx have row pitches; dx may be dy or x itself, with the
// same pitch; any rows ≥ 1, any cols ≥ 1, any addresses. dbias is summed in fp32, before dx is rounded, with the same
// bits on every launch. By the skeleton device/elementwise/strips.cuh. Computed in fp32.

#include "device/activation_slope.cuh"
#include "device/dropout.cuh"
#include "device/elementwise/strips.cuh"
#include "device/row/gradient_sums.cuh"
#include "device/row/reference_sums.cuh"

namespace bias_act_dropout_bwd {

template <class Config>
struct Gradient {
  using T = typename Config::dtype;
  enum : int { kInputs = 2 };

  tilewright::row::RowTensors<T, kInputs, 1, 1> tensors;  // x, dy; bias; dx
  float scale;
  tilewright::Dropout dropout;

  template <int kMultiple, int N>
  __device__ __forceinline__ void results(const float (&in)[kInputs][N], const float (&bias)[N], long long row,
                                          long long column, float (&out)[N]) const {
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float z = fmaf(in[0][j], scale, bias[j] * scale);
      out[j] = in[1][j] * tilewright::activation_slope_times<Config, T>(z, scale);
    }
    dropout.template apply<kMultiple>(out, row, column);
  }
};

}  // namespace bias_act_dropout_bwd

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    bias_act_dropout_bwd_strips(long long rows, long long cols, const typename Config::dtype* x,
                                const typename Config::dtype* bias, const typename Config::dtype* dy,
                                typename Config::dtype* dx, float* partials, long long* parts, float scale, float p,
                                unsigned long long seed, unsigned long long offset, long long x_pitch,
                                long long dy_pitch, long long dx_pitch) {
  using namespace tilewright;
  bias_act_dropout_bwd::Gradient<Config> op{{}, scale, {p, seed, offset}};
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.inputs[1] = row::matrix<Config>(dy, dy_pitch, cols);
  op.tensors.columns[0] = bias;
  op.tensors.outputs[0] = row::matrix<Config>(dx, dx_pitch, cols);
  elementwise::strips<Config>(op, {partials, parts, cols}, rows, cols);
}

template <class Config>
__global__ void __launch_bounds__(tilewright::row::sum_threads<Config>())
    bias_act_dropout_bwd_sums(float* partials, long long* parts, float* dbias, long long cols) {
  using namespace tilewright;
  row::sum_parts<1, 1, row::sum_threads<Config>()>({partials, parts, cols}, {dbias});
}

template <class Config>
__global__ void __launch_bounds__(tilewright::row::kWideSumThreads)
    bias_act_dropout_bwd_sums_wide(float* partials, long long* parts, float* dbias, long long cols) {
  using namespace tilewright;
  row::sum_parts<1, 4, row::kWideSumThreads>({partials, parts, cols}, {dbias});
}

// The reference: a thread per column of 32 rows.
template <class Config>
__global__ void bias_act_dropout_bwd_reference(const typename Config::dtype* x, const typename Config::dtype* bias,
                                               const typename Config::dtype* dy, double* dx, double* dbias, float scale,
                                               float p, unsigned long long seed, unsigned long long offset,
                                               long long x_pitch, long long dy_pitch, long long dx_pitch,
                                               long long rows, long long cols) {
  using namespace tilewright;
  const auto x_matrix = row::matrix<Config>(x, x_pitch, cols), dy_matrix = row::matrix<Config>(dy, dy_pitch, cols);
  const auto dx_matrix = row::matrix<Config>(dx, dx_pitch, cols);
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < ceil_div<i64>(rows, 32) * cols; i += stride) {
    const i64 c = i % cols;
    double sum = 0.0;
    for (i64 r = i / cols * 32; r < rows && r < (i / cols + 1) * 32; ++r) {
      const double z = (double{to_float(x_matrix.row(r)[c])} + double{to_float(bias[c])}) * double{scale};
      const double kept = exact_dropout(to_float(dy_matrix.row(r)[c]), p, seed, offset, r, c);
      const double gradient = kept * exact_activation_slope<Config>(z) * double{scale};
      dx_matrix.row(r)[c] = gradient;
      sum += gradient;
    }
    row::add_to_sum(dbias + c, sum);
  }
}
