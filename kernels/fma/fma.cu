// SPDX-License-Identifier: Apache-2.0
//
// Each element x[i] starts a chain of `steps` fused multiply-adds, v = v·a + b, and y[i] is its result: with hardly any
// traffic, the best time is the device's rate of fp32 multiply-adds.
//
//   thread   chain 0 … chain kChains-1, independent of each other: while one waits for its last step, others go on
//
// Shared memory: none. sm_80 and later.

#include "device/config.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    fma_chains(const float* x, float* y, float a, float b, long long n, long long steps) {
  using namespace tilewright;
  constexpr int kChains = Config::chains;
  const i64 threads = i64{gridDim.x} * blockDim.x;
  const i64 thread = i64{blockIdx.x} * blockDim.x + threadIdx.x;

  for (i64 first = thread; first < n; first += threads * kChains) {
    float values[kChains];
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) {
      const i64 i = first + chain * threads;
      values[chain] = i < n ? x[i] : 0.0F;
    }
#pragma unroll 16
    for (i64 step = 0; step < steps; ++step) {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) values[chain] = fmaf(values[chain], a, b);
    }
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) {
      const i64 i = first + chain * threads;
      if (i < n) y[i] = values[chain];
    }
  }
}

template <class Config>
__global__ void fma_reference(const float* x, double* y, float a, float b, long long n, long long steps) {
  using namespace tilewright;
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    double value = x[i];
    for (i64 step = 0; step < steps; ++step) value = value * double{a} + double{b};
    y[i] = value;
  }
}
