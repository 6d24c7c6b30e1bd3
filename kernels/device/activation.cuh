// SPDX-License-Identifier: Apache-2.0
#pragma once

// Activation functions of floats, as exact as the type `Output` can show (device/math.cuh). For 16-bit outputs the
// error is a few per cent of the output's rounding, and small results keep their relative accuracy. For fp32 the error
// is that of the plain formula with accurate functions. NaN gives NaN; an infinite argument gives the function's limit.
//
//   y = activate<Config, Output>(x)     by Config::act: none, relu, leaky_relu, gelu, gelu_erf, silu, tanh
//   exact_activation<Config>(double)    the float64 reference

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device/config.cuh"
#include "device/ptx/math.cuh"

namespace tilewright {

namespace detail {

// -2 sqrt(2 / pi): the tanh form of gelu is x / (1 + exp(kGelu · (x + kGeluCubic · x³))).
inline constexpr double kGelu = -1.5957691216057308;
inline constexpr double kGeluCubic = 0.044715;
inline constexpr double kLog2E = 1.4426950408889634;
inline constexpr double kSqrtHalf = 0.7071067811865476;

// Keeps -inf out of products whose other factor is already 0.
__device__ __forceinline__ float finite_below(float x) { return ptx::max_nan(x, -1e30f); }

// x / (1 + 2^exponent), approximately; the quotient underflows to zero before 2^exponent overflows.
__device__ __forceinline__ float logistic_product(float x, float exponent) {
  return x * ptx::rcp_approx(1.0f + ptx::ex2_approx(exponent));
}

// log2 of Φ(-a), the lower tail of the normal distribution, for a in [0, kEnd], as a polynomial. Beyond kEnd, a·Φ(-a)
// is zero in the type. Minimax fits: the relative error of Φ is below 6e-6 for fp16 (more if the product is subnormal);
// for bf16 it is below 2e-4 up to a = 5 and 2e-3 beyond.
template <class Output>
struct LogTail;
template <>
struct LogTail<__half> {
  enum : int { kDegree = 6, kEnd = 6 };
  __device__ static constexpr float coefficient(int i) {
    constexpr float values[] = {-1.00000805f,   -1.15102816f,    -4.59194477e-1f, -5.30270201e-2f,
                                7.93072679e-3f, -7.45950054e-4f, 3.22469566e-5f};
    return values[i];
  }
};
template <>
struct LogTail<__nv_bfloat16> {
  enum : int { kDegree = 7, kEnd = 13 };
  __device__ static constexpr float coefficient(int i) {
    constexpr float values[] = {-1.00028521f,   -1.14766183f,    -4.65799900e-1f, -4.83275042e-2f,
                                6.44786811e-3f, -5.43534269e-4f, 2.54566877e-5f,  -4.99633270e-7f};
    return values[i];
  }
};

}  // namespace detail

// x / (1 + e^-x).
template <class Output>
__device__ __forceinline__ float silu(float x) {
  x = detail::finite_below(x);
  if constexpr (is_same<Output, float>) {
    return x / (1.0f + expf(-x));
  } else {
    return detail::logistic_product(x, static_cast<float>(-detail::kLog2E) * x);
  }
}

// x / 2 · (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))). The 16-bit form has no cancellation for x < 0.
template <class Output>
__device__ __forceinline__ float gelu(float x) {
  x = detail::finite_below(x);
  if constexpr (is_same<Output, float>) {
    const float inner = x + static_cast<float>(detail::kGeluCubic) * (x * x * x);
    return 0.5f * x * (1.0f + tanhf(static_cast<float>(-0.5 * detail::kGelu) * inner));
  } else {
    constexpr float kLinear = static_cast<float>(detail::kGelu * detail::kLog2E);
    constexpr float kCubic = static_cast<float>(detail::kGelu * detail::kLog2E * detail::kGeluCubic);
    return detail::logistic_product(x, x * fmaf(kCubic, x * x, kLinear));
  }
}

// x Φ(x) = x / 2 · (1 + erf(x / sqrt(2))). For 16 bits: max(x, 0) - |x| Φ(-|x|), which needs only the tail.
template <class Output>
__device__ __forceinline__ float gelu_erf(float x) {
  if constexpr (is_same<Output, float>) {
    x = detail::finite_below(x);
    return 0.5f * x * (1.0f + erff(static_cast<float>(detail::kSqrtHalf) * x));
  } else {
    using Tail = detail::LogTail<Output>;
    const float a = fminf(fabsf(x), static_cast<float>(Tail::kEnd));
    float log_tail = Tail::coefficient(Tail::kDegree);
#pragma unroll
    for (int i = Tail::kDegree - 1; i >= 0; --i) log_tail = fmaf(log_tail, a, Tail::coefficient(i));
    return fmaf(-a, ptx::ex2_approx(log_tail), ptx::max_nan(x, 0.0f));
  }
}

template <class Output>
__device__ __forceinline__ float tanh_for(float x) {
  if constexpr (is_same<Output, float>) {
    return tanhf(x);
  } else if constexpr (is_same<Output, __nv_bfloat16>) {
    return ptx::tanh_approx(x);
  } else {
    // 1 - 2 / (1 + e^2x) cancels for small x; an odd polynomial serves there.
    const float square = x * x;
    const float near_zero = x * fmaf(square, fmaf(square, 0.12684548f, -0.33315549f), 1.0f);
    const float elsewhere =
        fmaf(-2.0f, ptx::rcp_approx(1.0f + ptx::ex2_approx(static_cast<float>(2 * detail::kLog2E) * x)), 1.0f);
    return square < 0.09f ? near_zero : elsewhere;
  }
}

template <class Config, class Output>
__device__ __forceinline__ float activate(float x) {
  if constexpr (Config::act == "relu") {
    return ptx::max_nan(x, 0.0f);
  } else if constexpr (Config::act == "leaky_relu") {
    return ptx::max_nan(x, 0.01f * x);
  } else if constexpr (Config::act == "gelu") {
    return gelu<Output>(x);
  } else if constexpr (Config::act == "gelu_erf") {
    return gelu_erf<Output>(x);
  } else if constexpr (Config::act == "silu") {
    return silu<Output>(x);
  } else if constexpr (Config::act == "tanh") {
    return tanh_for<Output>(x);
  } else {
    static_assert(Config::act == "none", "an activation that device/activation.cuh has");
    return x;
  }
}

__device__ __forceinline__ double exact_silu(double x) { return x == -double{kInfinity} ? 0.0 : x / (1.0 + exp(-x)); }

template <class Config>
__device__ __forceinline__ double exact_activation(double x) {
  if (x != x) return x;
  const bool to_zero = x == -double{kInfinity};
  if constexpr (Config::act == "relu") {
    return x > 0.0 ? x : 0.0;
  } else if constexpr (Config::act == "leaky_relu") {
    return x > 0.0 ? x : x * 0.01;
  } else if constexpr (Config::act == "gelu") {
    return to_zero ? 0.0 : x / (1.0 + exp(detail::kGelu * (x + detail::kGeluCubic * x * x * x)));
  } else if constexpr (Config::act == "gelu_erf") {
    return to_zero ? 0.0 : 0.5 * x * erfc(-detail::kSqrtHalf * x);
  } else if constexpr (Config::act == "silu") {
    return exact_silu(x);
  } else if constexpr (Config::act == "tanh") {
    return tanh(x);
  } else {
    return x;
  }
}

}  // namespace tilewright
