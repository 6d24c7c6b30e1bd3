// SPDX-License-Identifier: Apache-2.0
// Not compiled: the fake compiler passes the text on, and the fake device computes.

#include "device/config.cuh"

template <class Config>
__global__ void mma_plain(const float* x, float* y, long long n) {
  for (long long i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];
}

template <class Config>
__global__ void mma_reference(const float* x, double* y, long long n) {
  for (long long i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];
}
