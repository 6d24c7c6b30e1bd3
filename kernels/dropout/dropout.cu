// SPDX-License-Identifier: Apache-2.0
//
// y[i] = x[i] / (1 - p) if element i is kept, else 0, for i in [0, n); any n ≥ 1, any address; y may be x itself.
// device/dropout.cuh has the mask, with row 0 and column i.
//
// Shared memory: none. sm_80 and later.

#include "device/convert.cuh"
#include "device/dropout.cuh"
#include "device/elementwise/flat.cuh"

namespace dropout {

struct Function {
  tilewright::Dropout dropout;

  template <int kMultiple, int N>
  __device__ __forceinline__ void apply(float (&values)[1][N], long long first) const {
    dropout.apply<kMultiple>(values[0], 0, first);
  }
};

}  // namespace dropout

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    dropout_flat(const typename Config::dtype* x, typename Config::dtype* y, float p, unsigned long long seed,
                 unsigned long long offset, long long n) {
  using namespace tilewright::elementwise;
  flat<Config>(x, NoInput{}, y, n, dropout::Function{{p, seed, offset}});
}

template <class Config>
__global__ void dropout_reference(const typename Config::dtype* x, double* y, float p, unsigned long long seed,
                                  unsigned long long offset, long long n) {
  using namespace tilewright;
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] = exact_dropout(to_float(x[i]), p, seed, offset, 0, i);
  }
}
