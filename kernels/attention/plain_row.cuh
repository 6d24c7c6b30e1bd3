// SPDX-License-Identifier: Apache-2.0
#pragma once

// Attention of one query over keys `first` … `last` - 1 by its definition, by a warp: for bases and references of the
// attention ops. key(j) and value(j) give the start of a row, whose columns are contiguous, at most 256.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/reduce.cuh"

namespace tilewright::attention {

// The values that all rows of a call share.
struct RowScale {
  float scale, softcap;
  i64 columns, columns_v;
};

// In fp32, key after key. A lane has its columns of the row in registers, at most kMost.
template <class Config, int kMost, class T, class Key, class Value>
__device__ __forceinline__ void attend_columns(const RowScale& call, const T* query, const Key& key, const Value& value,
                                               i64 first, i64 last, T* o, float* lse) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  float queries[kMost], sums[kMost];
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    queries[i] = lane + 32 * i < call.columns ? to_float(query[lane + 32 * i]) : 0.0f;
    sums[i] = 0.0f;
  }
  // The largest score so far, and the sum of the weights relative to it.
  float largest = -kInfinity, sum = 0.0f;
  for (i64 j = first; j < last; ++j) {
    const T* const of_key = key(j);
    const T* const of_value = value(j);
    float score = 0.0f;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (lane + 32 * i < call.columns) score += queries[i] * to_float(of_key[lane + 32 * i]);
    }
    score = call.scale * reduce_lanes<kWarpSize>(score, Sum());
    if (Config::softcap == "yes") score = call.softcap * tanhf(score / call.softcap);
    const float before = largest;
    largest = fmaxf(largest, score);
    const float rescale = before == largest ? 1.0f : expf(before - largest);
    const float weight = expf(score - largest);
    sum = sum * rescale + weight;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (lane + 32 * i < call.columns_v) sums[i] = sums[i] * rescale + weight * to_float(of_value[lane + 32 * i]);
    }
  }
  const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    if (lane + 32 * i < call.columns_v) o[lane + 32 * i] = from_float<T>(sums[i] * inverse);
  }
  if (lse != nullptr && lane == 0) *lse = sum > 0.0f ? largest + logf(sum) : -kInfinity;
}

// `lse` may be null.
template <class Config, class T, class Key, class Value>
__device__ __forceinline__ void attend_plainly(const RowScale& call, const T* query, const Key& key, const Value& value,
                                               i64 first, i64 last, T* o, float* lse) {
  // Narrow rows must not take the time of wide ones.
  const i64 widest = call.columns > call.columns_v ? call.columns : call.columns_v;
  if (widest <= 64) {
    attend_columns<Config, 2>(call, query, key, value, first, last, o, lse);
  } else if (widest <= 128) {
    attend_columns<Config, 4>(call, query, key, value, first, last, o, lse);
  } else {
    attend_columns<Config, 8>(call, query, key, value, first, last, o, lse);
  }
}

// In fp64: a lane per key for scores, a few columns per lane for results. The largest score is found first, so nothing
// is rescaled.
template <class Config, class T, class Key, class Value>
__device__ __forceinline__ void attend_in_doubles(const RowScale& call, const T* query, const Key& key,
                                                  const Value& value, i64 first, i64 last, double* o, double* lse) {
  constexpr int kMost = 256 / kWarpSize;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const auto score_of = [&](i64 j) {
    if (j >= last) return -double{kInfinity};
    const T* const of_key = key(j);
    double score = 0.0;
    for (i64 i = 0; i < call.columns; ++i) score += double{to_float(query[i])} * double{to_float(of_key[i])};
    score *= double{call.scale};
    return Config::softcap == "yes" ? double{call.softcap} * tanh(score / double{call.softcap}) : score;
  };
  double largest = -double{kInfinity}, sum = 0.0, sums[kMost];
  for (i64 j = first + lane; j < last; j += kWarpSize) largest = fmax(largest, score_of(j));
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    largest = fmax(largest, __shfl_xor_sync(kFullMask, largest, offset));
  }
  for (double& each : sums) each = 0.0;
  for (i64 begin = first; begin < last; begin += kWarpSize) {
    const double own = exp(score_of(begin + lane) - largest);
    for (int other = 0; other < kWarpSize && begin + other < last; ++other) {
      const double weight = __shfl_sync(kFullMask, own, other);
      const T* const of_value = value(begin + other);
      sum += weight;
      for (int i = 0; i < kMost; ++i) {
        const i64 column = lane + i * kWarpSize;
        if (column < call.columns_v) sums[i] += weight * double{to_float(of_value[column])};
      }
    }
  }
  for (int i = 0; i < kMost; ++i) {
    const i64 column = lane + i * kWarpSize;
    if (column < call.columns_v) o[column] = sum > 0.0 ? sums[i] / sum : 0.0;
  }
  if (lse != nullptr && lane == 0) *lse = sum > 0.0 ? largest + log(sum) : -double{kInfinity};
}

}  // namespace tilewright::attention
