// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sum of the squares of a row, in fp32: a statistics class (statistics.cuh). The pad is 0.

#include "device/config.cuh"
#include "device/reduce.cuh"

namespace tilewright::row {

struct MeanSquare {
  struct alignas(8) Partial {
    float sum;
  };

  __device__ static __forceinline__ Partial nothing() { return {0.0f}; }

  template <int kLanes, int kCount, class Valid>
  __device__ static __forceinline__ Partial of_registers(const float (&values)[kCount], const Valid& valid, int) {
    Partial partial = nothing();
    add(partial, values, valid);
    return {reduce_lanes<kLanes>(partial.sum, Sum{})};
  }

  // Several chains of additions: short chains round less, and do not wait for each other.
  template <int kCount, class Valid>
  __device__ static __forceinline__ void add(Partial& partial, const float (&values)[kCount], const Valid&) {
    constexpr int kChains = 4;
    float sums[kChains] = {};
#pragma unroll
    for (int k = 0; k < kCount; ++k) sums[k % kChains] = fmaf(values[k], values[k], sums[k % kChains]);
    partial.sum += (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  template <int kLanes>
  __device__ static __forceinline__ Partial over_lanes(Partial partial) {
    return {reduce_lanes<kLanes>(partial.sum, Sum{})};
  }
};

}  // namespace tilewright::row
