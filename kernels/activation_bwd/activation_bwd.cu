// SPDX-License-Identifier: Apache-2.0
//
// dx[i] = dy[i] · act'(x[i]) for i in [0, n), with x the activation's input; any n ≥ 1, any addresses; dx may be dy
// itself. Computed in fp32, rounded once.
//
// Shared memory: none. sm_80 and later.

#include "device/activation_backward.cuh"
#include "device/convert.cuh"
#include "device/elementwise/flat.cuh"

namespace activation_bwd {

template <class Config>
struct Function {
  template <int kMultiple, int N>
  __device__ __forceinline__ void apply(float (&values)[2][N], long long) const {
    using namespace tilewright;
#pragma unroll
    for (int j = 0; j < N; ++j) values[0][j] *= activation_slope<Config, typename Config::dtype>(values[1][j]);
  }
};

}  // namespace activation_bwd

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    activation_bwd_flat(const typename Config::dtype* x, const typename Config::dtype* dy, typename Config::dtype* dx,
                        long long n) {
  tilewright::elementwise::flat<Config>(dy, x, dx, n, activation_bwd::Function<Config>{});
}

template <class Config>
__global__ void activation_bwd_reference(const typename Config::dtype* x, const typename Config::dtype* dy, double* dx,
                                         long long n) {
  using namespace tilewright;
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    dx[i] = double{to_float(dy[i])} * exact_activation_slope<Config>(to_float(x[i]));
  }
}
