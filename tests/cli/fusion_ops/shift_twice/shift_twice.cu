// SPDX-License-Identifier: Apache-2.0
//
// y = relu(x + 2), one element a thread.

#include "device/config.cuh"
#include "device/convert.cuh"

template <class Config>
__global__ void shift_twice_flat(const typename Config::dtype* x, typename Config::dtype* y, long long rows,
                                 long long cols) {
  using T = typename Config::dtype;
  const long long stride = 1LL * gridDim.x * Config::width;
  for (long long i = 1LL * blockIdx.x * Config::width + threadIdx.x; i < rows * cols; i += stride) {
    const float sum = tilewright::to_float(x[i]) + 2.0f;
    y[i] = tilewright::from_float<T>(sum < 0.0f ? 0.0f : sum);
  }
}

template <class Config>
__global__ void shift_twice_reference(const typename Config::dtype* x, double* y, long long rows, long long cols) {
  const long long stride = 1LL * gridDim.x * blockDim.x;
  for (long long i = 1LL * blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols; i += stride) {
    const double sum = static_cast<double>(tilewright::to_float(x[i])) + 2.0;
    y[i] = sum < 0.0 ? 0.0 : sum;
  }
}
