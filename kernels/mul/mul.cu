// SPDX-License-Identifier: Apache-2.0
//
// y[i] = act(a[i] · b[i]) for i in [0, n); any n ≥ 1, any addresses; y may be a itself. The product and the activation
// are computed in fp32, rounded once.
//
// Shared memory: none. sm_80 and later.

#include "device/activation.cuh"
#include "device/convert.cuh"
#include "device/elementwise/flat.cuh"

namespace mul {

template <class Config>
struct Function {
  template <int kMultiple, int N>
  __device__ __forceinline__ void apply(float (&values)[2][N], long long) const {
    using namespace tilewright;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      values[0][j] = activate<Config, typename Config::dtype>(values[0][j] * values[1][j]);
    }
  }
};

}  // namespace mul

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    mul_flat(const typename Config::dtype* a, const typename Config::dtype* b, typename Config::dtype* y, long long n) {
  tilewright::elementwise::flat<Config>(a, b, y, n, mul::Function<Config>{});
}

template <class Config>
__global__ void mul_reference(const typename Config::dtype* a, const typename Config::dtype* b, double* y,
                              long long n) {
  using namespace tilewright;
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] = exact_activation<Config>(double{to_float(a[i])} * double{to_float(b[i])});
  }
}
