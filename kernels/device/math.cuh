// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/config.cuh"
#include "device/ptx/math.cuh"

// Transcendental functions as exact as the output type can show: the hardware's approximation if the result is rounded
// to 8 or 11 bits, the accurate function if it is stored in fp32.

namespace tilewright {

// e^x.
template <class Output>
__device__ __forceinline__ float exp_for(float x) {
  if constexpr (is_same<Output, float>) {
    return expf(x);
  } else {
    constexpr float kLog2E = 1.4426950408889634f;
    return ptx::ex2_approx(x * kLog2E);
  }
}

// a / b.
template <class Output>
__device__ __forceinline__ float divide_for(float a, float b) {
  if constexpr (is_same<Output, float>) {
    return a / b;
  } else {
    return a * ptx::rcp_approx(b);
  }
}

// 1 / sqrt(x).
template <class Output>
__device__ __forceinline__ float rsqrt_for(float x) {
  const float estimate = ptx::rsqrt_approx(x);
  if constexpr (is_same<Output, float>) {
    // One Newton step, unless the estimate is 0 or infinite.
    const float error = fmaf(-0.5f * x * estimate, estimate, 0.5f);
    return estimate > 0.0f && estimate < kInfinity ? fmaf(estimate, error, estimate) : estimate;
  } else {
    return estimate;
  }
}

}  // namespace tilewright
