// SPDX-License-Identifier: Apache-2.0
#pragma once

// Mean and variance of a row in fp32, never as E[x²] − E[x]²: a statistics class (statistics.cuh). The pad is 0.
//
// A partial is (count, mean, sum of squared distances from that mean). Values in registers take two passes. Partials
// are merged by the rule of Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances" (1979), for any number of parts: mean = Σ n_i · mean_i / n, squares = Σ squares_i + Σ n_i · (mean_i −
// mean)².

#include "device/config.cuh"
#include "device/ptx/math.cuh"
#include "device/reduce.cuh"

namespace tilewright::row {

struct Moments {
  struct alignas(8) Partial {
    float count;
    float mean;
    float squares;
    float unused;
  };

  __device__ static __forceinline__ Partial nothing() { return {0.0f, 0.0f, 0.0f, 0.0f}; }

  template <int kLanes, int kCount, class Valid>
  __device__ static __forceinline__ Partial of_registers(const float (&values)[kCount], const Valid& valid, int held) {
    const float count = static_cast<float>(held);
    const float mean = reduce_lanes<kLanes>(sum(values), Sum{}) * reciprocal(count);
    return {count, mean, reduce_lanes<kLanes>(squares_around(mean, values, valid), Sum{}), 0.0f};
  }

  template <int kCount, class Valid>
  __device__ static __forceinline__ void add(Partial& partial, const float (&values)[kCount], const Valid& valid) {
    const float count = counted<kCount>(valid);
    const float mean = sum(values) * reciprocal(count);
    const Partial more{count, mean, squares_around(mean, values, valid), 0.0f};
    const float whole = partial.count + count;
    const float share = count * reciprocal(whole);
    const float distance = more.mean - partial.mean;
    partial.squares += fmaf(distance * distance, partial.count * share, more.squares);
    partial.mean = fmaf(distance, share, partial.mean);
    partial.count = whole;
  }

  template <int kLanes>
  __device__ static __forceinline__ Partial over_lanes(const Partial& partial) {
    const float count = reduce_lanes<kLanes>(partial.count, Sum{});
    const float mean = reduce_lanes<kLanes>(partial.count * partial.mean, Sum{}) * reciprocal(count);
    return {count, mean, reduce_lanes<kLanes>(squares_around(mean, partial), Sum{}), 0.0f};
  }

 private:
  // 1 / count, or 1 for a count of 0, whose factors are 0.
  __device__ static __forceinline__ float reciprocal(float count) { return ptx::rcp_approx(fmaxf(count, 1.0f)); }

  __device__ static __forceinline__ float squares_around(float mean, const Partial& partial) {
    const float distance = partial.mean - mean;
    return fmaf(distance * distance, partial.count, partial.squares);
  }

  template <int kCount, class Valid>
  __device__ static __forceinline__ float counted(const Valid& valid) {
    int count = 0;
#pragma unroll
    for (int k = 0; k < Valid::kGroupedCount; k += Valid::kGroupSize) count += valid(k) ? int{Valid::kGroupSize} : 0;
#pragma unroll
    for (int k = Valid::kGroupedCount; k < kCount; ++k) count += valid(k) ? 1 : 0;
    return static_cast<float>(count);
  }

  template <int kCount>
  __device__ static __forceinline__ float sum(const float (&values)[kCount]) {
    constexpr int kChains = 4;
    float sums[kChains] = {};
#pragma unroll
    for (int k = 0; k < kCount; ++k) sums[k % kChains] += values[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  template <int kCount, class Valid>
  __device__ static __forceinline__ float squares_around(float mean, const float (&values)[kCount],
                                                         const Valid& valid) {
    constexpr int kChains = 4;
    float sums[kChains] = {};
    const auto add = [&](int k) {
      const float distance = values[k] - mean;
      sums[k % kChains] = fmaf(distance, distance, sums[k % kChains]);
    };
#pragma unroll
    for (int first = 0; first < Valid::kGroupedCount; first += Valid::kGroupSize) {
      if (!valid(first)) continue;
#pragma unroll
      for (int k = 0; k < Valid::kGroupSize; ++k) add(first + k);
    }
#pragma unroll
    for (int k = Valid::kGroupedCount; k < kCount; ++k) {
      if (valid(k)) add(k);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
};

}  // namespace tilewright::row
