// SPDX-License-Identifier: Apache-2.0
#pragma once

// The maximum of a row and the sum of exp(x - maximum), in fp32: a statistics class (statistics.cuh). The pad is -inf.
//
// Partials are merged by rescaling (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018), so one
// exchange serves both.

#include "device/config.cuh"
#include "device/ptx/math.cuh"
#include "device/reduce.cuh"

namespace tilewright::row {

template <class Output>
struct Exponentials {
  struct alignas(8) Partial {
    float max;
    float sum;
  };

  __device__ static __forceinline__ Partial nothing() { return {-kInfinity, 0.0f}; }

  // Replaces each element x by exp(x - max). A maximum of -inf, that of no elements, gives 0, not NaN.
  //
  // 16-bit outputs take one multiply-add and ex2: x log2(e) - max log2(e), the latter rounded. Near such a maximum a
  // result is off by up to 2^-24 |max log2(e)|, but so is its sum, and the two cancel. For large |max| they would not,
  // so x - max is computed first.
  template <int kCount>
  __device__ static __forceinline__ void exponentials(float (&values)[kCount], float max) {
    const float shift = max == -kInfinity ? 0.0f : max;
    if constexpr (is_same<Output, float>) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) values[k] = exp_of_difference(values[k], shift);
    } else if (fabsf(shift) <= kLargeMaximum) {
      const float scaled = shift * kLog2E;
#pragma unroll
      for (int k = 0; k < kCount; ++k) values[k] = ptx::ex2_approx(fmaf(values[k], kLog2E, -scaled));
    } else {
#pragma unroll
      for (int k = 0; k < kCount; ++k) values[k] = ptx::ex2_approx((values[k] - shift) * kLog2E);
    }
  }

  // The factor that rescales a sum from the maximum `from` to the maximum `to`, which is not smaller.
  __device__ static __forceinline__ float rescaling(float from, float to) {
    const float shift = to == -kInfinity ? 0.0f : to;
    if constexpr (is_same<Output, float>) {
      return exp_of_difference(from, shift);
    } else {
      if (fabsf(shift) <= kLargeMaximum) return ptx::ex2_approx(from * kLog2E - shift * kLog2E);
      return ptx::ex2_approx((from - shift) * kLog2E);
    }
  }

  template <int kLanes, int kCount, class Valid>
  __device__ static __forceinline__ Partial of_registers(float (&values)[kCount], const Valid&, int) {
    const float max = reduce_lanes<kLanes>(largest(values), Max{});
    exponentials(values, max);
    return {max, reduce_lanes<kLanes>(sum(values), Sum{})};
  }

  template <int kCount, class Valid>
  __device__ static __forceinline__ void add(Partial& partial, float (&values)[kCount], const Valid&) {
    const float max = fmaxf(partial.max, largest(values));
    exponentials(values, max);
    partial = {max, fmaf(partial.sum, rescaling(partial.max, max), sum(values))};
  }

  template <int kLanes>
  __device__ static __forceinline__ Partial over_lanes(Partial partial) {
    const float max = reduce_lanes<kLanes>(partial.max, Max{});
    return {max, reduce_lanes<kLanes>(partial.sum * rescaling(partial.max, max), Sum{})};
  }

 private:
  static constexpr float kLog2E = 1.4426950408889634f;
  static constexpr float kLargeMaximum = 1024.0f;
  static constexpr float kLeastExponent = -104.0f;

  // e^(a - b) in fp32. Rounding a - b loses up to 2^-24 |a - b|, more than the error of expf. The loss is computed
  // exactly (D. E. Knuth, The Art of Computer Programming, 4.2.2) and added back. It may be NaN if e^(a - b) is 0.
  __device__ static __forceinline__ float exp_of_difference(float a, float b) {
    const float difference = a - b;
    const float b_as_taken = a - difference;
    const float a_as_taken = difference + b_as_taken;
    const float lost = (a - a_as_taken) + (b_as_taken - b);
    const float result = expf(difference);
    return fmaf(result, difference > kLeastExponent ? lost : 0.0f, result);
  }

  template <int kCount>
  __device__ static __forceinline__ float largest(const float (&values)[kCount]) {
    float max = values[0];
#pragma unroll
    for (int k = 1; k < kCount; ++k) max = fmaxf(max, values[k]);
    return max;
  }

  template <int kCount>
  __device__ static __forceinline__ float sum(const float (&values)[kCount]) {
    constexpr int kChains = 4;
    float sums[kChains] = {};
#pragma unroll
    for (int k = 0; k < kCount; ++k) sums[k % kChains] += values[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
};

}  // namespace tilewright::row
