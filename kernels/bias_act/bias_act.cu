// SPDX-License-Identifier: Apache-2.0
//
// y[r][c] = act(x[r][c] + bias[c]); any rows ≥ 1, any cols ≥ 1, any addresses; y may be x itself. With pitch=strided
// the rows of x and y start x_pitch and y_pitch elements apart. Computed in fp32, rounded once.
//
// Shared memory: none. sm_80 and later.

#include "device/activation.cuh"
#include "device/convert.cuh"
#include "device/elementwise/dense.cuh"
#include "device/elementwise/tiled.cuh"

namespace bias_act {

template <class Config>
struct Function {
  template <int kMultiple, int N>
  __device__ __forceinline__ void apply(float (&x)[N], const float (&bias)[N], long long, long long) const {
    using namespace tilewright;
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = activate<Config, typename Config::dtype>(x[j] + bias[j]);
  }
};

}  // namespace bias_act

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    bias_act_dense(const typename Config::dtype* x, const typename Config::dtype* bias, typename Config::dtype* y,
                   long long rows, long long cols, long long across_inverse) {
  using namespace tilewright::elementwise;
  using T = typename Config::dtype;
  dense<Config>(SideBySide<T, 1>{x}, Bias<T>{bias}, y, rows, cols, across_inverse, bias_act::Function<Config>{});
}

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    bias_act_tiled(long long rows, long long cols, const typename Config::dtype* x, const typename Config::dtype* bias,
                   typename Config::dtype* y, long long x_pitch, long long y_pitch) {
  using namespace tilewright::elementwise;
  using T = typename Config::dtype;
  constexpr bool kStrided = Config::pitch == "strided";
  tiled<Config, T>({x, kStrided ? x_pitch : cols}, Bias<T>{bias}, {y, kStrided ? y_pitch : cols}, rows, cols,
                   bias_act::Function<Config>{});
}

template <class Config>
__global__ void bias_act_reference(const typename Config::dtype* x, const typename Config::dtype* bias, double* y,
                                   long long x_pitch, long long y_pitch, long long rows, long long cols) {
  using namespace tilewright;
  constexpr bool kStrided = Config::pitch == "strided";
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * cols; i += stride) {
    const i64 r = i / cols, c = i % cols;
    const double x_value = to_float(x[r * (kStrided ? x_pitch : cols) + c]);
    y[r * (kStrided ? y_pitch : cols) + c] = exact_activation<Config>(x_value + double{to_float(bias[c])});
  }
}
