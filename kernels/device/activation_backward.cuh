// SPDX-License-Identifier: Apache-2.0
#pragma once

// Derivatives of the activations of device/activation.cuh, in fp32. A 16-bit `Output` gets fast functions, whose errors
// its rounding hides. NaN gives NaN; an infinite argument gives the derivative's limit. A factor that would cancel (1 -
// tanh², 1 - logistic) is computed directly, not as a difference.
//
//   d = activation_slope<Config, Output>(x)   by Config::act: none, relu, leaky_relu, gelu, gelu_erf, silu, tanh
//   exact_activation_slope<Config>(double)    the float64 reference
//
// At 0, relu has the slope 0 and leaky_relu 0.01.

#include "device/activation.cuh"
#include "device/config.cuh"
#include "device/ptx/math.cuh"

namespace tilewright {

namespace detail {

// e^-a for a ≥ 0.
template <class Output>
__device__ __forceinline__ float exp_of_minus(float a) {
  if constexpr (is_same<Output, float>) {
    return expf(-a);
  } else {
    return ptx::ex2_approx(static_cast<float>(-kLog2E) * a);
  }
}

template <class Output>
__device__ __forceinline__ float inverse_of(float x) {
  if constexpr (is_same<Output, float>) {
    return 1.0f / x;
  } else {
    return ptx::rcp_approx(x);
  }
}

// value = 1 / (1 + e^-x), rest = 1 - value.
struct Logistic {
  float value;
  float rest;
};

template <class Output>
__device__ __forceinline__ Logistic logistic(float x) {
  const float small = exp_of_minus<Output>(fabsf(x));
  const float large_side = inverse_of<Output>(1.0f + small);
  const float small_side = small * large_side;
  return x < 0.0f ? Logistic{small_side, large_side} : Logistic{large_side, small_side};
}

// Clamps x to ±30, beyond which a slope equals its limit. NaN stays NaN.
__device__ __forceinline__ float within_slopes(float x) {
  constexpr float kEnd = 30.0f;
  return -ptx::max_nan(-ptx::max_nan(x, -kEnd), -kEnd);
}

}  // namespace detail

template <class Config, class Output>
__device__ __forceinline__ float activation_slope(float x) {
  if constexpr (Config::act == "relu" || Config::act == "leaky_relu") {
    constexpr float kBelow = Config::act == "relu" ? 0.0f : 0.01f;
    return x > 0.0f ? 1.0f : x <= 0.0f ? kBelow : x;
  } else if constexpr (Config::act == "silu") {
    x = detail::within_slopes(x);
    const detail::Logistic s = detail::logistic<Output>(x);
    return s.value * fmaf(x, s.rest, 1.0f);
  } else if constexpr (Config::act == "gelu") {
    // x · logistic(u(x)), u = 2 sqrt(2 / pi) (x + 0.044715 x³).
    x = detail::within_slopes(x);
    constexpr float kLinear = static_cast<float>(-detail::kGelu);
    constexpr float kCubic = static_cast<float>(-detail::kGelu * detail::kGeluCubic);
    const float square = x * x;
    const detail::Logistic s = detail::logistic<Output>(x * fmaf(kCubic, square, kLinear));
    return s.value * fmaf(x * s.rest, fmaf(3.0f * kCubic, square, kLinear), 1.0f);
  } else if constexpr (Config::act == "gelu_erf") {
    // Φ(x) + x φ(x).
    x = detail::within_slopes(x);
    constexpr float kDensity = 0.3989422804f;
    const float density = kDensity * detail::exp_of_minus<Output>(0.5f * x * x);
    return fmaf(x, density, 0.5f * erfcf(static_cast<float>(-detail::kSqrtHalf) * x));
  } else if constexpr (Config::act == "tanh") {
    // 4 e^-2|x| / (1 + e^-2|x|)².
    const float small = detail::exp_of_minus<Output>(2.0f * fabsf(x));
    const float inverse = detail::inverse_of<Output>(1.0f + small);
    return 4.0f * small * inverse * inverse;
  } else {
    static_assert(Config::act == "none", "an activation that device/activation_backward.cuh has");
    return 1.0f;
  }
}

template <class Config>
__device__ __forceinline__ double exact_activation_slope(double x) {
  if (x != x) return x;
  const bool is_infinite = x == double{kInfinity} || x == -double{kInfinity};
  const double limit = x > 0.0 ? 1.0 : 0.0;
  if constexpr (Config::act == "relu") {
    return limit;
  } else if constexpr (Config::act == "leaky_relu") {
    return x > 0.0 ? 1.0 : 0.01;
  } else if constexpr (Config::act == "gelu") {
    if (is_infinite) return limit;
    const double s = 1.0 / (1.0 + exp(detail::kGelu * (x + detail::kGeluCubic * x * x * x)));
    const double rest = 1.0 / (1.0 + exp(-detail::kGelu * (x + detail::kGeluCubic * x * x * x)));
    return s * (1.0 - x * rest * detail::kGelu * (1.0 + 3.0 * detail::kGeluCubic * x * x));
  } else if constexpr (Config::act == "gelu_erf") {
    constexpr double kDensity = 0.3989422804014327;
    return is_infinite ? limit : 0.5 * erfc(-detail::kSqrtHalf * x) + x * kDensity * exp(-0.5 * x * x);
  } else if constexpr (Config::act == "silu") {
    return is_infinite ? limit : (1.0 + x / (1.0 + exp(x))) / (1.0 + exp(-x));
  } else if constexpr (Config::act == "tanh") {
    const double small = exp(-2.0 * fabs(x));
    return 4.0 * small / ((1.0 + small) * (1.0 + small));
  } else {
    return 1.0;
  }
}

}  // namespace tilewright
