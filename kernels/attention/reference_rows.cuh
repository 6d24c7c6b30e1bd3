// SPDX-License-Identifier: Apache-2.0
#pragma once

// Attention in fp64, for references. A warp takes four rows of queries and eight keys at a time, so a key is loaded
// once for four rows. A lane has every 32nd column of all of them, and one of the 32 scores:
//
//   lane 8 · row + key  ◀── Σ over columns, by exchanges that halve a lane's scores: 16, 8, 4, 2, 1

#include "device/config.cuh"
#include "device/convert.cuh"
#include "plain_row.cuh"

namespace tilewright::attention {

enum : int { kReferenceRows = 4, kReferenceKeys = 8 };

// Rows that share their keys. Row r sees keys first[r] … last[r] - 1; `lse` may be null.
template <class T>
struct ReferenceRows {
  const T* query[kReferenceRows];
  double* o[kReferenceRows];
  double* lse[kReferenceRows];
  i64 first[kReferenceRows], last[kReferenceRows];
  int count;  // rows in use, at least one
};

template <class Config, int kMost, class T, class Key, class Value>
__device__ __forceinline__ void attend_columns_in_doubles(const RowScale& call, const ReferenceRows<T>& rows,
                                                          const Key& key, const Value& value) {
  constexpr int kRows = kReferenceRows, kKeys = kReferenceKeys;
  static_assert(kRows * kKeys == kWarpSize, "a lane has a score");
  constexpr double kNone = -double{kInfinity};
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  double queries[kRows][kMost], sums[kRows][kMost];
  i64 begin = rows.first[0], end = rows.last[0], own_first = 0, own_last = 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const bool exists = r < rows.count;
    if (exists && rows.first[r] < begin) begin = rows.first[r];
    if (exists && rows.last[r] > end) end = rows.last[r];
    if (exists && lane / kKeys == r) own_first = rows.first[r], own_last = rows.last[r];
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      const int column = lane + kWarpSize * i;
      queries[r][i] = exists && column < call.columns ? double{to_float(rows.query[r][column])} : 0.0;
      sums[r][i] = 0.0;
    }
  }
  // The largest score so far of the lane's row, and the sum of its own keys' weights relative to it.
  double largest = kNone, sum = 0.0;
#pragma unroll 1
  for (i64 first = begin; first < end; first += kKeys) {
    double scores[kRows * kKeys];
#pragma unroll
    for (int n = 0; n < kKeys; ++n) {
      const bool exists = first + n < end;
      const T* const of_key = key(exists ? first + n : first);
#pragma unroll
      for (int r = 0; r < kRows; ++r) scores[r * kKeys + n] = 0.0;
#pragma unroll
      for (int i = 0; i < kMost; ++i) {
        const int column = lane + kWarpSize * i;
        const double element = exists && column < call.columns ? double{to_float(of_key[column])} : 0.0;
#pragma unroll
        for (int r = 0; r < kRows; ++r) scores[r * kKeys + n] += queries[r][i] * element;
      }
    }
#pragma unroll
    for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
      const bool is_upper = (lane & offset) != 0;
#pragma unroll
      for (int i = 0; i < offset; ++i) {
        const double given = is_upper ? scores[i] : scores[i + offset];
        const double kept = is_upper ? scores[i + offset] : scores[i];
        scores[i] = kept + __shfl_xor_sync(kFullMask, given, offset);
      }
    }
    double score = scores[0] * double{call.scale};
    if (Config::softcap == "yes") score = double{call.softcap} * tanh(score / double{call.softcap});
    const i64 own = first + lane % kKeys;
    if (own < own_first || own >= own_last) score = kNone;
    const double before = largest;
    double top = score;
#pragma unroll
    for (int offset = kKeys / 2; offset > 0; offset /= 2) top = fmax(top, __shfl_xor_sync(kFullMask, top, offset));
    largest = fmax(largest, top);
    const double rescale = before == largest ? 1.0 : exp(before - largest);
    const double weight = score == kNone ? 0.0 : exp(score - largest);
    sum = sum * rescale + weight;
    if (__any_sync(kFullMask, rescale != 1.0)) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const double of_row = __shfl_sync(kFullMask, rescale, r * kKeys);
#pragma unroll
        for (int i = 0; i < kMost; ++i) sums[r][i] *= of_row;
      }
    }
#pragma unroll
    for (int n = 0; n < kKeys; ++n) {
      if (first + n >= end) break;
      const T* const of_value = value(first + n);
      double weights[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) weights[r] = __shfl_sync(kFullMask, weight, r * kKeys + n);
#pragma unroll
      for (int i = 0; i < kMost; ++i) {
        const int column = lane + kWarpSize * i;
        const double element = column < call.columns_v ? double{to_float(of_value[column])} : 0.0;
#pragma unroll
        for (int r = 0; r < kRows; ++r) sums[r][i] += weights[r] * element;
      }
    }
  }
#pragma unroll
  for (int offset = kKeys / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kFullMask, sum, offset);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const double total = __shfl_sync(kFullMask, sum, r * kKeys), top = __shfl_sync(kFullMask, largest, r * kKeys);
    if (r >= rows.count) break;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      const int column = lane + kWarpSize * i;
      if (column < call.columns_v) rows.o[r][column] = total > 0.0 ? sums[r][i] / total : 0.0;
    }
    if (rows.lse[r] != nullptr && lane == 0) *rows.lse[r] = total > 0.0 ? top + log(total) : kNone;
  }
}

// A warp calls. key(j) and value(j) give the start of a row, whose columns are contiguous, at most 256.
template <class Config, class T, class Key, class Value>
__device__ __forceinline__ void attend_rows_in_doubles(const RowScale& call, const ReferenceRows<T>& rows,
                                                       const Key& key, const Value& value) {
  const i64 widest = call.columns > call.columns_v ? call.columns : call.columns_v;
  if (widest <= 64) {
    attend_columns_in_doubles<Config, 2>(call, rows, key, value);
  } else if (widest <= 128) {
    attend_columns_in_doubles<Config, 4>(call, rows, key, value);
  } else {
    attend_columns_in_doubles<Config, 8>(call, rows, key, value);
  }
}

// Calls work(lanes, count) for the warp's lanes with `wanted`, up to four at a time.
template <class Work>
__device__ __forceinline__ void for_each_four(u32 wanted, const Work& work) {
  while (wanted != 0) {
    int lanes[kReferenceRows], count = 0;
#pragma unroll
    for (int r = 0; r < kReferenceRows; ++r) {
      lanes[r] = wanted != 0 ? __ffs(static_cast<int>(wanted)) - 1 : lanes[0];
      count += wanted != 0 ? 1 : 0;
      wanted &= wanted - 1;
    }
    work(lanes, count);
  }
}

}  // namespace tilewright::attention
