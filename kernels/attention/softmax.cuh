// SPDX-License-Identifier: Apache-2.0
#pragma once

// The running softmax of two rows a thread, on scores as wgmma leaves them. In warp w, lane l, with g = l / 4 and
// t = l % 4, scores 4j and 4j + 1 are of row 16w + g, scores 4j + 2 and 4j + 3 of row 16w + g + 8, both of keys 8j + 2t
// and 8j + 2t + 1 of the block.
//
//   weight = 2^(factor · score − factor · base)
//
// Weights are floating point: any base serves that keeps them and their sums within fp32 (and, rounded, within the
// dtype). The row's largest score need not be known. It is looked for
//
//   keep_base = 0   in every block; the base follows where weights would exceed 2^8
//   keep_base = 1   in the first block of a piece. Later blocks keep the base, and the sums tell when it is too small:
//                   beyond 2^14 all that was added up is scaled down, beyond 2^100 the block is done again, and its
//                   largest scores are looked for
//
// Weights are rounded before they are multiplied. Where one key has nearly all the weight of its row, the result is off
// by that weight's rounding, unless results are divided by the sum of rounded weights:
//
//   ones = 0        a thread adds them up
//   ones = 1        the product does, by a column of ones beside the values (wgmma_multiply.cuh)
//
// lse needs the sum of exact weights, which a thread adds up besides. Where nothing needs that sum (kSums is false),
// weights are 2^40 times smaller, and a block is done again where one of them is 2 or more: that is one bit, and bits
// are gathered two weights an instruction. f16 has no room for such weights, and keeps the sums.
//
// A thread's sums are over its own keys; the four lanes of a row add up at the end.

#include "device/config.cuh"
#include "device/ptx/math.cuh"

namespace tilewright::attention {

inline constexpr float kLog2E = 1.4426950408889634f;
inline constexpr float kLn2 = 0.6931471805599453f;

struct Rows {
  float base[2];
  float sum[2];
  float rounded_sum[2];  // of the weights as they are multiplied; ones = 0
  u32 bits;              // that any weight of the block has; without sums
};

__device__ __forceinline__ Rows fresh_rows() { return {{-kInfinity, -kInfinity}, {0.0f, 0.0f}, {0.0f, 0.0f}, 0}; }

// How scores become exponents of 2.
struct Scale {
  float before;  // on raw scores, where they are changed at all: softcap's, or the sign
  float factor;  // ≥ 0, and not 0, so that a masked score stays −inf
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
    // tanh x = 1 − 2 / (1 + e^2x): exact to fp32's rounding of numbers about 1, which softcap then multiplies.
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      const float power = ptx::ex2_approx(scores[i] * (scale.before * (2.0f * kLog2E)));
      scores[i] = fmaf(-2.0f, ptx::rcp_approx(1.0f + power), 1.0f);
    }
  } else if (scale.before < 0.0f) {
#pragma unroll
    for (int i = 0; i < kScores; ++i) scores[i] = -scores[i];
  }
}

// −inf for keys outside first … end of each of the two rows, as seen from the thread's first key.
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

// Moves the bases, where a block's scores ask for it. Returns whether those of the warp have moved: then sums over
// earlier blocks are to be multiplied by `rescale`.
template <int kScores>
__device__ __forceinline__ bool raise_bases(Rows& rows, const float (&scores)[kScores], float (&rescale)[2],
                                            float factor) {
  constexpr float kSlack = 8.0f;
  // Four chains a row: one alone would wait for itself.
  constexpr int kChains = 4;
  float tops[2][kChains];
#pragma unroll
  for (int i = 0; i < kScores; ++i) {
    const int row = i / 2 % 2, of_row = i / 4 * 2 + i % 2;
    float& top = tops[row][of_row % kChains];
    top = of_row < kChains ? scores[i] : fmaxf(top, scores[i]);
  }
  float top[2];
  bool rises = false;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    top[row] = fmaxf(fmaxf(tops[row][0], tops[row][1]), fmaxf(tops[row][2], tops[row][3]));
    top[row] = fmaxf(top[row], __shfl_xor_sync(kFullMask, top[row], 1));
    top[row] = fmaxf(top[row], __shfl_xor_sync(kFullMask, top[row], 2));
    rises |= (top[row] - rows.base[row]) * factor > kSlack;
  }
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

// Whether any of the warp's sums is beyond the limit.
__device__ __forceinline__ bool exceeds(const Rows& rows, float limit) {
  return __any_sync(kFullMask, fmaxf(rows.sum[0], rows.sum[1]) > limit);
}
inline constexpr float kSumsToScale = 0x1p14f, kSumsLost = 0x1p100f;

// Without sums: whether any of the warp's weights of the block is 2 or more, or no number.
__device__ __forceinline__ bool has_large(const Rows& rows) {
  constexpr u32 kTwo = 0x40000000u;  // set in a float from 2 on
  return __any_sync(kFullMask, (rows.bits & kTwo) != 0);
}

// Never: no weight is negative. The compiler cannot know.
template <bool kSums>
__device__ __forceinline__ bool is_negative(const Rows& rows) {
  return kSums ? rows.sum[0] + rows.sum[1] < 0.0f : static_cast<i32>(rows.bits) < 0;
}

// Moves the bases so that sums are about 1, with the weights of the last block; the rest is to be multiplied by
// `rescale`.
template <int kScores>
__device__ __forceinline__ void lower_sums(Rows& rows, float (&weights)[kScores], float (&rescale)[2], float factor) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    float sum = rows.sum[row];
    sum += __shfl_xor_sync(kFullMask, sum, 1);
    sum += __shfl_xor_sync(kFullMask, sum, 2);
    const float base = sum > 1.0f ? rows.base[row] + ptx::lg2_approx(sum) * ptx::rcp_approx(factor) : rows.base[row];
    rescale[row] = sum > 1.0f ? ptx::ex2_approx((rows.base[row] - base) * factor) : 1.0f;
    rows.base[row] = base;
    rows.sum[row] *= rescale[row];
    rows.rounded_sum[row] *= rescale[row];
  }
#pragma unroll
  for (int i = 0; i < kScores; ++i) weights[i] *= rescale[i / 2 % 2];
}

// Scores kFirst … kEnd become weights.
template <bool kSums, int kFirst, int kEnd, int kScores>
__device__ __forceinline__ void weigh(Rows& rows, float (&scores)[kScores], float factor) {
  constexpr float kSmaller = kSums ? 0.0f : 40.0f;
  float shift[2];
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    shift[row] = rows.base[row] == -kInfinity ? 0.0f : -rows.base[row] * factor - kSmaller;
  }
  if constexpr (!kSums && kFirst == 0) rows.bits = 0;
#pragma unroll
  for (int i = kFirst; i < kEnd; ++i) {
    const int row = i / 2 % 2;
    scores[i] = ptx::ex2_approx(fmaf(scores[i], factor, shift[row]));
    if constexpr (kSums) {
      rows.sum[row] += scores[i];
    } else {
      rows.bits |= __builtin_bit_cast(u32, scores[i]);
    }
  }
}

}  // namespace tilewright::attention
