// SPDX-License-Identifier: Apache-2.0
#pragma once

// Decoding as it is defined, over any cache: the base and the reference in fp64, both with a warp a row of queries.

#include "cache.cuh"
#include "device/convert.cuh"
#include "device/reduce.cuh"

namespace tilewright::attention {

// What of a call is the same for every row.
struct Decoding {
  const i32* lengths;
  i32 left;  // of the window; -1 is unlimited
  float scale, softcap;
  i64 batches, heads, key_heads, queries, capacity, columns, columns_v;
};

// The keys that query `query` of a sequence sees: from first to behind last. The last query is the last token.
struct SeenKeys {
  i64 first, last;
};

template <class Config>
__device__ __forceinline__ SeenKeys seen_keys(const Decoding& call, i64 batch, i64 query) {
  i64 length = call.lengths[batch];
  length = length < 0 ? 0 : length > call.capacity ? call.capacity : length;
  SeenKeys keys{0, length - call.queries + query + 1};
  if (Config::window == "yes" && call.left >= 0 && keys.last - 1 - call.left > 0)
    keys.first = keys.last - 1 - call.left;
  return keys;
}

template <class Config, class T, class Cache>
__device__ __forceinline__ void decode_plainly(const Decoding& call, const Rows4<const T>& q, const Cache& cache,
                                               const Rows4<T>& o, float* lse) {
  constexpr int kMost = 256 / kWarpSize;  // elements of a row that a lane has
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = static_cast<i64>(gridDim.x) * Config::num_warps;
  i64 row = static_cast<i64>(blockIdx.x) * Config::num_warps + threadIdx.x / kWarpSize;
  for (; row < call.batches * call.heads * call.queries; row += warps) {
    const i64 query = row % call.queries, head = row / call.queries % call.heads,
              batch = row / call.queries / call.heads;
    const i64 kv_head = head / (call.heads / call.key_heads);
    const SeenKeys keys = seen_keys<Config>(call, batch, query);

    float queries[kMost], sums[kMost];
    const T* const from = q.at(batch, query, head);
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      queries[i] = lane + 32 * i < call.columns ? to_float(from[lane + 32 * i]) : 0.0f;
      sums[i] = 0.0f;
    }
    // The largest score so far, and the sum of the weights over its.
    float largest = -kInfinity, sum = 0.0f;
    for (i64 j = keys.first; j < keys.last; ++j) {
      const T* const key = cache.key(batch, j, kv_head);
      const T* const value = cache.value(batch, j, kv_head);
      float score = 0.0f;
#pragma unroll
      for (int i = 0; i < kMost; ++i) {
        if (lane + 32 * i < call.columns) score += queries[i] * to_float(key[lane + 32 * i]);
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
        if (lane + 32 * i < call.columns_v) sums[i] = sums[i] * rescale + weight * to_float(value[lane + 32 * i]);
      }
    }

    T* const to = o.at(batch, query, head);
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (lane + 32 * i < call.columns_v) to[lane + 32 * i] = from_float<T>(sums[i] * inverse);
    }
    if (Config::lse == "yes" && lane == 0) lse[row] = sum > 0.0f ? largest + logf(sum) : -kInfinity;
  }
}

// A lane a key for scores and a lane a few columns for results; the largest score first, so that nothing is rescaled.
template <class Config, class T, class Cache>
__device__ __forceinline__ void decode_in_doubles(const Decoding& call, const Rows4<const T>& q, const Cache& cache,
                                                  const Rows4<double>& o, double* lse) {
  constexpr int kMost = 256 / kWarpSize;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = static_cast<i64>(gridDim.x) * (blockDim.x / kWarpSize);
  i64 row = static_cast<i64>(blockIdx.x) * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (; row < call.batches * call.heads * call.queries; row += warps) {
    const i64 query = row % call.queries, head = row / call.queries % call.heads,
              batch = row / call.queries / call.heads;
    const i64 kv_head = head / (call.heads / call.key_heads);
    const SeenKeys keys = seen_keys<Config>(call, batch, query);
    const T* const from = q.at(batch, query, head);
    const auto score_of = [&](i64 j) {
      if (j >= keys.last) return -double{kInfinity};
      const T* const key = cache.key(batch, j, kv_head);
      double score = 0.0;
      for (i64 i = 0; i < call.columns; ++i) score += double{to_float(from[i])} * double{to_float(key[i])};
      score *= double{call.scale};
      return Config::softcap == "yes" ? double{call.softcap} * tanh(score / double{call.softcap}) : score;
    };

    double largest = -double{kInfinity}, sum = 0.0, sums[kMost];
    for (i64 j = keys.first + lane; j < keys.last; j += kWarpSize) largest = fmax(largest, score_of(j));
    for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
      largest = fmax(largest, __shfl_xor_sync(kFullMask, largest, offset));
    }
    for (double& each : sums) each = 0.0;
    for (i64 first = keys.first; first < keys.last; first += kWarpSize) {
      const double own = exp(score_of(first + lane) - largest);
      for (int other = 0; other < kWarpSize && first + other < keys.last; ++other) {
        const double weight = __shfl_sync(kFullMask, own, other);
        const T* const value = cache.value(batch, first + other, kv_head);
        sum += weight;
        for (int i = 0; i < kMost; ++i) {
          const i64 column = lane + i * kWarpSize;
          if (column < call.columns_v) sums[i] += weight * double{to_float(value[column])};
        }
      }
    }
    double* const to = o.at(batch, query, head);
    for (int i = 0; i < kMost; ++i) {
      const i64 column = lane + i * kWarpSize;
      if (column < call.columns_v) to[column] = sum > 0.0 ? sums[i] / sum : 0.0;
    }
    if (Config::lse == "yes" && lane == 0) lse[row] = sum > 0.0 ? largest + log(sum) : -double{kInfinity};
  }
}

}  // namespace tilewright::attention
