// SPDX-License-Identifier: Apache-2.0
#pragma once

// The running softmax of two rows a thread, on scores in wgmma's layout. In warp w, lane l, with g = l / 4 and
// t = l % 4, scores 4j and 4j + 1 are of row 16w + g, scores 4j + 2 and 4j + 3 of row 16w + g + 8, both of keys 8j + 2t
// and 8j + 2t + 1 of the block.
//
//   weight = 2^(factor · score − factor · base − 3)
//
// A row's base is any score that keeps the weights within the dtype. It need not be the row's largest score, for which
// a thread searches
//
//   keep_base = 0   in all blocks; the base follows if a weight would exceed 8 times that of the base
//   keep_base = 1   in the first block of a piece. Later blocks keep the base. A weight of 2 or more, 16 times that of
//                   the base, becomes the base, and all sums are scaled down. Beyond 2^100 the block is computed again,
//                   with a search. One bit of a weight says whether it is 2 or more; an instruction gathers the bits of
//                   two to four weights
//
// Weights are rounded before they are multiplied. If one key has nearly all the weight of its row, the result is off by
// that weight's rounding. So a weight far above the others becomes the base, whose rounding is exact, and results are
// divided by the sum of the rounded weights:
//
//   ones = 0        a thread adds them up
//   ones = 1        the product does, by a column of ones beside the values (wgmma_multiply.cuh)
//
// lse needs the sum of exact weights, which a thread adds up as well.
//
// A thread's sums are over its own keys; the four lanes of a row are added at the end.

#include "device/config.cuh"
#include "device/ptx/math.cuh"

namespace tilewright::attention {

inline constexpr float kLog2E = 1.4426950408889634f;
inline constexpr float kLn2 = 0.6931471805599453f;
inline constexpr float kOfBase = 0.125f, kLogOfBase = -3.0f;  // the weight of the base, and its logarithm

struct Rows {
  float base[2];
  float sum[2];
  float rounded_sum[2];  // of the rounded weights; ones = 0
  u32 bits;              // of all gathered weights, or'ed
};

__device__ __forceinline__ Rows fresh_rows() { return {{-kInfinity, -kInfinity}, {0.0f, 0.0f}, {0.0f, 0.0f}, 0}; }

// How scores become exponents of 2.
struct Scale {
  float before;  // factor of raw scores: softcap's, or the sign
  float factor;  // > 0, so that a masked score stays −inf
};

template <bool kSoftcap>
__device__ __forceinline__ Scale make_scale(float scale, float softcap) {
  constexpr float kLeast = 1e-30f;
  if constexpr (kSoftcap) return {scale / softcap, fmaxf(fabsf(softcap) * kLog2E, kLeast)};
  return {scale < 0.0f ? -1.0f : 1.0f, fmaxf(fabsf(scale) * kLog2E, kLeast)};
}

template <bool kSoftcap, int kScores>
__device__ __forceinline__ void change_scores(float (&scores)[kScores], const Scale& scale) {
  if constexpr (kSoftcap) {
    // tanh x = 1 − 2 / (1 + e^2x), exact to fp32's rounding of 1; near 0, where that rounding is large, the series.
    constexpr float kNear = 0.1f;
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      const float x = scores[i] * scale.before, square = x * x;
      const float power = ptx::ex2_approx(x * (2.0f * kLog2E));
      const float far = fmaf(-2.0f, ptx::rcp_approx(1.0f + power), 1.0f);
      const float near = fmaf(square * fmaf(square, 2.0f / 15.0f, -1.0f / 3.0f), x, x);
      scores[i] = fabsf(x) < kNear ? near : far;
    }
  } else if (scale.before < 0.0f) {
#pragma unroll
    for (int i = 0; i < kScores; ++i) scores[i] = -scores[i];
  }
}

// Sets scores of keys outside [first, end) of each of the two rows to −inf. Keys count from the thread's first.
template <bool kHasFirst, int kScores>
__device__ __forceinline__ void mask_scores(float (&scores)[kScores], const i32 (&first)[2], const i32 (&end)[2]) {
#pragma unroll
  for (int i = 0; i < kScores; ++i) {
    const int key = i / 4 * 8 + i % 2;
    const int row = i / 2 % 2;
    const bool is_outside = key >= end[row] || (kHasFirst && key < first[row]);
    scores[i] = is_outside ? -kInfinity : scores[i];
  }
}

// The block's largest score of each row.
template <int kScores>
__device__ __forceinline__ void largest_of_rows(float (&top)[2], const float (&scores)[kScores]) {
  // Four chains a row: one would wait for its own latency.
  constexpr int kChains = 4;
  float tops[2][kChains];
#pragma unroll
  for (int i = 0; i < kScores; ++i) {
    const int row = i / 2 % 2, of_row = i / 4 * 2 + i % 2;
    float& each = tops[row][of_row % kChains];
    each = of_row < kChains ? scores[i] : fmaxf(each, scores[i]);
  }
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    top[row] = fmaxf(fmaxf(tops[row][0], tops[row][1]), fmaxf(tops[row][2], tops[row][3]));
    top[row] = fmaxf(top[row], __shfl_xor_sync(kFullMask, top[row], 1));
    top[row] = fmaxf(top[row], __shfl_xor_sync(kFullMask, top[row], 2));
  }
}

// Raises the bases if a block's scores need it. Returns whether the warp's bases have moved: the caller then multiplies
// sums over earlier blocks by `rescale`.
template <int kScores>
__device__ __forceinline__ bool raise_bases(Rows& rows, const float (&scores)[kScores], float (&rescale)[2],
                                            float factor) {
  constexpr float kSlack = 3.0f;  // in logarithms to base 2
  float top[2];
  largest_of_rows(top, scores);
  bool rises = (top[0] - rows.base[0]) * factor > kSlack || (top[1] - rows.base[1]) * factor > kSlack;
  rises = __any_sync(kFullMask, rises);
  if (rises) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const float base = fmaxf(rows.base[row], top[row]);
      rescale[row] = base == -kInfinity ? 1.0f : ptx::ex2_approx((rows.base[row] - base) * factor);
      rows.base[row] = base;
      rows.sum[row] *= rescale[row];
      rows.rounded_sum[row] *= rescale[row];
    }
  }
  return rises;
}

// Whether the warp has rows that have seen no key yet, and so have no base.
__device__ __forceinline__ bool has_unset(const Rows& rows) {
  return __any_sync(kFullMask, rows.base[0] == -kInfinity || rows.base[1] == -kInfinity);
}

// Whether any of the warp's gathered weights is 2 or more, or NaN: in fp32, or rounded in pairs.
__device__ __forceinline__ bool has_large(const Rows& rows, u32 rounded) {
  constexpr u32 kTwo = 0x40000000u, kTwoOfPair = 0x40004000u;  // set in a float, a bf16 and an f16 from 2 on
  return __any_sync(kFullMask, (rows.bits & kTwo) != 0 || (rounded & kTwoOfPair) != 0);
}

// Always false, since no weight is negative; the compiler cannot know.
template <bool kSums>
__device__ __forceinline__ bool is_negative(const Rows& rows) {
  return kSums ? rows.sum[0] + rows.sum[1] < 0.0f : static_cast<i32>(rows.bits) < 0;
}

// Makes the block's largest weight of a row the base if it is 2 or more; the caller multiplies the rest by `rescale`.
// Returns false, and does nothing, if weights of the warp have overflowed fp32, or nearly.
template <int kScores>
__device__ __forceinline__ bool lower_weights(Rows& rows, float (&weights)[kScores], float (&rescale)[2],
                                              float factor) {
  constexpr float kLost = 0x1p100f;
  float top[2];
  largest_of_rows(top, weights);
  if (__any_sync(kFullMask, !(fmaxf(top[0], top[1]) < kLost))) return false;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const bool is_large = top[row] >= 2.0f;
    rescale[row] = is_large ? kOfBase * ptx::rcp_approx(top[row]) : 1.0f;
    if (is_large) rows.base[row] += ptx::lg2_approx(top[row] / kOfBase) * ptx::rcp_approx(factor);
    rows.sum[row] *= rescale[row];
    rows.rounded_sum[row] *= rescale[row];
  }
#pragma unroll
  for (int i = 0; i < kScores; ++i) weights[i] *= rescale[i / 2 % 2];
  return true;
}

// Turns scores kFirst … kEnd - 1 into weights. kSums adds them up, kBits gathers their bits.
template <bool kSums, bool kBits, int kFirst, int kEnd, int kScores>
__device__ __forceinline__ void weigh(Rows& rows, float (&scores)[kScores], float factor) {
  float shift[2];
#pragma unroll
  for (int row = 0; row < 2; ++row)
    shift[row] = rows.base[row] == -kInfinity ? 0.0f : -rows.base[row] * factor + kLogOfBase;
  if constexpr (kFirst == 0) rows.bits = 0;
#pragma unroll
  for (int i = kFirst; i < kEnd; ++i) {
    const int row = i / 2 % 2;
    scores[i] = ptx::ex2_approx(fmaf(scores[i], factor, shift[row]));
    if constexpr (kBits) rows.bits |= __builtin_bit_cast(u32, scores[i]);
    if constexpr (kSums) rows.sum[row] += scores[i];
  }
}

// The natural logarithm of a row's sum of weights.
__device__ __forceinline__ float log_sum(float base, float sum, float factor) {
  return base == -kInfinity ? -kInfinity : (base * factor + ptx::lg2_approx(sum / kOfBase)) * kLn2;
}

}  // namespace tilewright::attention
