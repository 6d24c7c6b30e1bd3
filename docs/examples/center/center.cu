// SPDX-License-Identifier: Apache-2.0
//
// y[r][c] = x[r][c] - (sum over r of x[r][c]) / rows, in the plainest way, and what is right in fp64.
//
//   x, y   rows × cols; y may be x itself; any rows ≥ 1, any cols ≥ 1

#include "device/config.cuh"

// A thread a column.
template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    center_plain(const float* x, float* y, long long rows, long long cols) {
  const long long stride = 1LL * gridDim.x * blockDim.x;
  for (long long c = 1LL * blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += stride) {
    float sum = 0.0f;
    for (long long r = 0; r < rows; ++r) sum += x[r * cols + c];
    const float mean = sum / static_cast<float>(rows);
    for (long long r = 0; r < rows; ++r) y[r * cols + c] = x[r * cols + c] - mean;
  }
}

template <class Config>
__global__ void center_reference(const float* x, double* y, long long rows, long long cols) {
  const long long stride = 1LL * gridDim.x * blockDim.x;
  for (long long c = 1LL * blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += stride) {
    double sum = 0.0;
    for (long long r = 0; r < rows; ++r) sum += double{x[r * cols + c]};
    const double mean = sum / static_cast<double>(rows);
    for (long long r = 0; r < rows; ++r) y[r * cols + c] = double{x[r * cols + c]} - mean;
  }
}
