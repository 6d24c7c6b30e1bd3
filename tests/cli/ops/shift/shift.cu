// SPDX-License-Identifier: Apache-2.0
//
// y[r][c] = act(x[r][c] + 1); a block handles one row at a time. Three of the four variants are wrong on purpose.

#include "device/config.cuh"
#include "device/convert.cuh"

namespace shift {

template <class Config>
__device__ float shifted(float x) {
  const float sum = x + 1.0f;
  return Config::act == "relu" && sum < 0.0f ? 0.0f : sum;
}

}  // namespace shift

template <class Config>
__global__ void shift_rowwise(const typename Config::dtype* x, typename Config::dtype* y, long long rows,
                              long long cols) {
  using T = typename Config::dtype;
  static_assert(Config::variant != 2, "variant 2 does not compile");
  if (Config::variant == 3) __trap();
  const long long last = Config::variant == 1 ? cols - 1 : cols;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    for (long long i = row * cols + threadIdx.x; i < row * cols + last; i += Config::width) {
      y[i] = tilewright::from_float<T>(shift::shifted<Config>(tilewright::to_float(x[i])));
    }
  }
}

template <class Config>
__global__ void shift_reference(const typename Config::dtype* x, double* y, long long rows, long long cols) {
  const long long stride = 1LL * gridDim.x * blockDim.x;
  for (long long i = 1LL * blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols; i += stride) {
    y[i] = shift::shifted<Config>(tilewright::to_float(x[i]));
  }
}
