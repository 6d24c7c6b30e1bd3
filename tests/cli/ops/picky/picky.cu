// SPDX-License-Identifier: Apache-2.0
//
// y[r][c] = x[r][c] + 1; a block handles one row at a time.

#include "device/config.cuh"

template <class Config>
__global__ void picky(const float* x, float* y, long long rows, long long cols) {
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    for (long long i = row * cols + threadIdx.x; i < (row + 1) * cols; i += Config::width) y[i] = x[i] + 1.0f;
  }
}

template <class Config>
__global__ void picky_reference(const float* x, double* y, long long rows, long long cols) {
  const long long stride = 1LL * gridDim.x * blockDim.x;
  for (long long i = 1LL * blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols; i += stride) {
    y[i] = static_cast<double>(x[i]) + 1.0;
  }
}
