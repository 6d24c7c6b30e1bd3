// SPDX-License-Identifier: Apache-2.0
#pragma once

// Conversions between the dtypes (float, __half, __nv_bfloat16) and float, in which kernels compute. Vectors are
// narrowed two elements per instruction. Narrowing rounds to nearest, ties to even.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device/vector.cuh"

namespace tilewright {

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(__half value) { return __half2float(value); }
__device__ __forceinline__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

namespace detail {

template <class T>
struct FromFloat;
template <>
struct FromFloat<float> {
  __device__ static __forceinline__ float one(float value) { return value; }
};
template <>
struct FromFloat<__half> {
  using Pair = __half2;
  __device__ static __forceinline__ __half one(float value) { return __float2half_rn(value); }
  __device__ static __forceinline__ Pair two(float low, float high) { return __floats2half2_rn(low, high); }
};
template <>
struct FromFloat<__nv_bfloat16> {
  using Pair = __nv_bfloat162;
  __device__ static __forceinline__ __nv_bfloat16 one(float value) { return __float2bfloat16_rn(value); }
  __device__ static __forceinline__ Pair two(float low, float high) { return __floats2bfloat162_rn(low, high); }
};

}  // namespace detail

template <class T>
__device__ __forceinline__ T from_float(float value) {
  return detail::FromFloat<T>::one(value);
}

// The elements of a vector as floats. A bfloat16 is the upper half of a float: one instruction per element.
template <class T, int N>
__device__ __forceinline__ void to_float(const Packed<T, N>& from, float (&to)[N]) {
  if constexpr (is_same<T, __nv_bfloat16> && N % 2 == 0) {
    struct Words {
      u32 words[N / 2];
    };
    const auto pairs = __builtin_bit_cast(Words, from);
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      to[2 * i] = __builtin_bit_cast(float, pairs.words[i] << 16);
      to[2 * i + 1] = __builtin_bit_cast(float, pairs.words[i] & 0xffff0000u);
    }
  } else {
    const Vector<T, N> vector = unpack(from);
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = to_float(vector[i]);
  }
}

template <class T, int N>
__device__ __forceinline__ void to_float(const Vector<T, N>& from, float (&to)[N]) {
  to_float(pack(from), to);
}

template <class T, int N>
__device__ __forceinline__ Vector<T, N> from_float(const float (&from)[N]) {
  Vector<T, N> result;
  if constexpr (sizeof(T) == 2 && N % 2 == 0) {
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      const auto pair = detail::FromFloat<T>::two(from[i], from[i + 1]);
      result[i] = pair.x;
      result[i + 1] = pair.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) result[i] = from_float<T>(from[i]);
  }
  return result;
}

}  // namespace tilewright
