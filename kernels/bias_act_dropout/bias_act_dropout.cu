// SPDX-License-Identifier: Apache-2.0
//
// y[r][c] = dropout(act((x[r][c] + bias[c]) · scale)); any rows ≥ 1, any cols ≥ 1, any addresses; y may be x itself.
// With pitch=strided the rows of x and y start x_pitch and y_pitch elements apart. Computed in fp32, rounded once.
// device/dropout.cuh has the mask.
//
// Shared memory: none. sm_80 and later.

#include "device/activation.cuh"
#include "device/convert.cuh"
#include "device/dropout.cuh"
#include "device/elementwise/dense.cuh"
#include "device/elementwise/tiled.cuh"

namespace bias_act_dropout {

template <class Config>
struct Function {
  float scale;
  tilewright::Dropout dropout;

  template <int kMultiple, int N>
  __device__ __forceinline__ void apply(float (&x)[N], const float (&bias)[N], long long row, long long column) const {
    using namespace tilewright;
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = activate<Config, typename Config::dtype>((x[j] + bias[j]) * scale);
    dropout.apply<kMultiple>(x, row, column);
  }
};

}  // namespace bias_act_dropout

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    bias_act_dropout_dense(long long rows, long long cols, const typename Config::dtype* x,
                           const typename Config::dtype* bias, typename Config::dtype* y, long long across_inverse,
                           float scale, float p, unsigned long long seed, unsigned long long offset) {
  using namespace tilewright::elementwise;
  using T = typename Config::dtype;
  dense<Config>(SideBySide<T, 1>{x}, Bias<T>{bias}, y, rows, cols, across_inverse,
                bias_act_dropout::Function<Config>{scale, {p, seed, offset}});
}

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    bias_act_dropout_tiled(long long rows, long long cols, const typename Config::dtype* x,
                           const typename Config::dtype* bias, typename Config::dtype* y, float scale, float p,
                           unsigned long long seed, unsigned long long offset, long long x_pitch, long long y_pitch) {
  using namespace tilewright::elementwise;
  using T = typename Config::dtype;
  constexpr bool kStrided = Config::pitch == "strided";
  tiled<Config, T>({x, kStrided ? x_pitch : cols}, Bias<T>{bias}, {y, kStrided ? y_pitch : cols}, rows, cols,
                   bias_act_dropout::Function<Config>{scale, {p, seed, offset}});
}

template <class Config>
__global__ void bias_act_dropout_reference(const typename Config::dtype* x, const typename Config::dtype* bias,
                                           double* y, float scale, float p, unsigned long long seed,
                                           unsigned long long offset, long long x_pitch, long long y_pitch,
                                           long long rows, long long cols) {
  using namespace tilewright;
  constexpr bool kStrided = Config::pitch == "strided";
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * cols; i += stride) {
    const i64 r = i / cols, c = i % cols;
    const double sum = double{to_float(x[r * (kStrided ? x_pitch : cols) + c])} + double{to_float(bias[c])};
    y[r * (kStrided ? y_pitch : cols) + c] =
        exact_dropout(exact_activation<Config>(sum * double{scale}), p, seed, offset, r, c);
  }
}
