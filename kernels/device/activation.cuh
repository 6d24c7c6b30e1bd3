// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/config.cuh"
#include "device/ptx/math.cuh"

// Activation functions of floats, as exact as an `Output` of that type can show (device/math.cuh). NaN gives NaN, and an
// infinite argument the function's limit.

namespace tilewright {

namespace detail {

// 1 / (1 + 2^x).
template <class Output>
__device__ __forceinline__ float logistic2(float x) {
  return ptx::rcp_approx(1.0f + ptx::ex2_approx(x));
}

// Keeps -inf out of products with a zero. Results are 0 there long before.
__device__ __forceinline__ float finite_below(float x) { return ptx::max_nan(x, -1e30f); }

}  // namespace detail

// x / (1 + e^-x).
template <class Output>
__device__ __forceinline__ float silu(float x) {
  x = detail::finite_below(x);
  if constexpr (is_same<Output, float>) {
    return x / (1.0f + expf(-x));
  } else {
    constexpr float kLog2E = 1.4426950408889634f;
    return x * detail::logistic2<Output>(-kLog2E * x);
  }
}

}  // namespace tilewright
