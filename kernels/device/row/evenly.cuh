// SPDX-License-Identifier: Apache-2.0
#pragma once

// Statistics (statistics.cuh) for skeletons that gather several rows side by side, or the partials of many warps.

#include "device/config.cuh"
#include "device/row/exponentials.cuh"
#include "device/row/mean_square.cuh"
#include "device/row/moments.cuh"
#include "device/row/statistics.cuh"

namespace tilewright::row {

// Statistics without branches, so that several rows can be gathered side by side.
template <class Statistics>
struct EvenlyOf;

template <>
struct EvenlyOf<MeanSquare> : MeanSquare {
  __device__ static __forceinline__ Partial merged(const Partial& a, const Partial& b) { return {a.sum + b.sum}; }
};

template <class Output>
struct EvenlyOf<Exponentials<Output>> : Exponentials<Output> {
  using Partial = typename Exponentials<Output>::Partial;
  __device__ static __forceinline__ Partial merged(const Partial& a, const Partial& b) {
    const float max = fmaxf(a.max, b.max);
    const float of_a = a.sum * Exponentials<Output>::rescaling(a.max, max);
    return {max, fmaf(b.sum, Exponentials<Output>::rescaling(b.max, max), of_a)};
  }
};

// Moments whose invalid values are 0.
template <>
struct EvenlyOf<Moments> : Moments {
  template <int kLanes, int kCount, class Valid>
  __device__ static __forceinline__ Partial of_registers(const float (&values)[kCount], const Valid& valid, int held) {
    constexpr int kChains = 4;
    const float count = static_cast<float>(held);
    float sums[kChains] = {};
#pragma unroll
    for (int k = 0; k < kCount; ++k) sums[k % kChains] += values[k];
    const float all = reduce_lanes<kLanes>((sums[0] + sums[1]) + (sums[2] + sums[3]), Sum{});
    const float mean = all * ptx::rcp_approx(fmaxf(count, 1.0f));
    float squares[kChains] = {};
    float around = mean;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      if (k >= Valid::kGroupedCount || k % Valid::kGroupSize == 0) around = valid(k) ? mean : 0.0f;
      const float distance = values[k] - around;
      squares[k % kChains] = fmaf(distance, distance, squares[k % kChains]);
    }
    return {count, mean, reduce_lanes<kLanes>((squares[0] + squares[1]) + (squares[2] + squares[3]), Sum{}), 0.0f};
  }

  __device__ static __forceinline__ Partial merged(const Partial& a, const Partial& b) {
    const float count = a.count + b.count;
    const float share = b.count * ptx::rcp_approx(fmaxf(count, 1.0f));
    const float distance = b.mean - a.mean;
    return {count, fmaf(distance, share, a.mean), fmaf(distance * distance, a.count * share, a.squares + b.squares),
            0.0f};
  }
};

}  // namespace tilewright::row
