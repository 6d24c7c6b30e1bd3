// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/config.cuh"

// Reductions over the lanes of a warp by butterflies: all lanes get the same result.

namespace tilewright {

struct Max {
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};

// Reduces over groups of kLanes neighbouring lanes (a power of two, at most a warp). All lanes of the warp must call.
template <int kLanes, class T, class Operation>
__device__ __forceinline__ T reduce_lanes(T value, Operation operation) {
  static_assert(kLanes >= 1 && kLanes <= kWarpSize && (kLanes & (kLanes - 1)) == 0, "lanes: a power of two up to 32");
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    value = operation(value, __shfl_xor_sync(kFullMask, value, offset));
  }
  return value;
}

}  // namespace tilewright
