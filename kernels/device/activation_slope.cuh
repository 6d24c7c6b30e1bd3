// SPDX-License-Identifier: Apache-2.0
#pragma once

// act'(x) · factor in few instructions, for kernels that compute longer than memory takes. activation_backward.cuh
// computes 1 / (1 + e^-u) by the sign of u. Here arguments are clamped so that e^-u is finite, and e^-u / (1 + e^-u) is
// as exact as 1 / (1 + e^-u) for either sign.
//
// NaN gives NaN. Beyond the clamps, infinity included, a slope equals its limit to within 10^-35.

#include "device/activation_backward.cuh"
#include "device/config.cuh"
#include "device/ptx/math.cuh"

namespace tilewright {

namespace detail {

__device__ __forceinline__ float held_within(float x, float end) { return -ptx::max_nan(-ptx::max_nan(x, -end), -end); }

}  // namespace detail

// act'(x) · factor, by Config::act, for results that are rounded to `Output`.
template <class Config, class Output>
__device__ __forceinline__ float activation_slope_times(float x, float factor) {
  if constexpr (!is_same<Output, float> && Config::act == "gelu") {
    // u = linear · x + cubic · x³, s = 1 / (1 + e^-u): the slope of x s is s (1 + x (1 - s) u').
    constexpr float kEnd = 10.0f;
    constexpr float kLinear = static_cast<float>(-detail::kGelu);
    constexpr float kCubic = static_cast<float>(-detail::kGelu * detail::kGeluCubic);
    constexpr float kLog2E = static_cast<float>(detail::kLog2E);
    x = detail::held_within(x, kEnd);
    const float square = x * x;
    const float small = ptx::ex2_approx(x * fmaf(-kLog2E * kCubic, square, -kLog2E * kLinear));
    const float s = ptx::rcp_approx(1.0f + small);
    return s * fmaf(x * (small * s), fmaf(3.0f * kCubic * factor, square, kLinear * factor), factor);
  } else if constexpr (!is_same<Output, float> && Config::act == "silu") {
    constexpr float kEnd = 86.0f;
    x = detail::held_within(x, kEnd);
    const float small = ptx::ex2_approx(static_cast<float>(-detail::kLog2E) * x);
    const float s = ptx::rcp_approx(1.0f + small);
    return s * fmaf(x * factor, small * s, factor);
  } else {
    return activation_slope<Config, Output>(x) * factor;
  }
}

}  // namespace tilewright
