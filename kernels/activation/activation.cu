// SPDX-License-Identifier: Apache-2.0
//
// y[i] = act(x[i]) for i in [0, n); any n ≥ 1, any address; y may be x itself. Computed in fp32, rounded once.
//
// Shared memory: none. sm_80 and later.

#include "device/activation.cuh"
#include "device/convert.cuh"
#include "device/elementwise/flat.cuh"

namespace activation {

template <class Config>
struct Function {
  template <int kMultiple, int N>
  __device__ __forceinline__ void apply(float (&values)[1][N], long long) const {
#pragma unroll
    for (int j = 0; j < N; ++j) values[0][j] = tilewright::activate<Config, typename Config::dtype>(values[0][j]);
  }
};

}  // namespace activation

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    activation_flat(const typename Config::dtype* x, typename Config::dtype* y, long long n) {
  using namespace tilewright::elementwise;
  flat<Config>(x, NoInput{}, y, n, activation::Function<Config>{});
}

template <class Config>
__global__ void activation_reference(const typename Config::dtype* x, double* y, long long n) {
  using namespace tilewright;
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] = exact_activation<Config>(to_float(x[i]));
  }
}
