// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/config.cuh"
#include "device/philox.cuh"
#include "device/ptx/math.cuh"

// Dropout keeps an element with probability 1 - p and divides it by 1 - p; other elements become 0. The mask is a
// function of seed, offset, row and column alone, so all configs agree:
//
//   words = philox4x32_10(counter = (column / 4, row, offset's lower word, its upper word), key = seed)
//   kept    if (words[column mod 4] >> 8) · 2^-24 >= p
//
// Row and column / 4 count modulo 2^32. p is in [0, 1]: 0 keeps all elements, 1 drops all.

namespace tilewright {

class Dropout {
 public:
  __device__ __forceinline__ Dropout(float p, u64 seed, u64 offset) : p_(p), seed_(seed), offset_(offset) {}

  // Applies dropout to the columns from `column` on, a multiple of kMultiple.
  template <int kMultiple, int N>
  __device__ __forceinline__ void apply(float (&values)[N], u64 row, u64 column) const {
    const Dropping dropping{least_word(), scale()};
    if constexpr (kMultiple % 4 != 0) {
      apply_across(values, row, column, dropping);
    } else {
#pragma unroll
      for (int j = 0; j < N; j += 4) {
        const PhiloxWords words = words_at(row, column / 4 + j / 4);
#pragma unroll
        for (int k = 0; k < 4 && j + k < N; ++k) values[j + k] = dropping(values[j + k], words[k]);
      }
    }
  }

 private:
  // Drops or scales an element. Construct it after the loads: it then takes no registers while they are in flight.
  struct Dropping {
    u32 least_word;
    float scale;

    __device__ __forceinline__ float operator()(float value, u32 word) const {
      return word >= least_word ? value * scale : 0.0f;
    }
  };

  // `column` may lie inside a group of four: the words of this group and the next are shifted down.
  template <int N>
  __device__ __forceinline__ void apply_across(float (&values)[N], u64 row, u64 column,
                                               const Dropping& dropping) const {
    const u32 skip = static_cast<u32>(column % 4);
    PhiloxWords words = words_at(row, column / 4);
#pragma unroll
    for (int j = 0; j < N; j += 4) {
      PhiloxWords next = words;
      if (N > 1) next = words_at(row, column / 4 + j / 4 + 1);
      u32 moved[7];
#pragma unroll
      for (int k = 0; k < 7; ++k) moved[k] = k < 4 ? words[k] : next[k - 4];
#pragma unroll
      for (int k = 0; k < 5; ++k) moved[k] = (skip & 2) != 0 ? moved[k + 2] : moved[k];
#pragma unroll
      for (int k = 0; k < 4; ++k) moved[k] = (skip & 1) != 0 ? moved[k + 1] : moved[k];
#pragma unroll
      for (int k = 0; k < 4 && j + k < N; ++k) values[j + k] = dropping(values[j + k], moved[k]);
      words = next;
    }
  }

  __device__ __forceinline__ PhiloxWords words_at(u64 row, u64 group) const {
    return philox4x32_10(
        {{static_cast<u32>(group), static_cast<u32>(row), static_cast<u32>(offset_), static_cast<u32>(offset_ >> 32)}},
        seed_);
  }

  // The least word that keeps an element: word >> 8 >= p · 2^24 if and only if word >= least · 2^8. For p = 1 the bound
  // does not fit a word; the scale of 0 drops the elements that pass.
  __device__ __forceinline__ u32 least_word() const {
    const u32 least = static_cast<u32>(__float2int_rz(ceilf(p_ * 0x1p24f)));
    return p_ < 1.0f ? least << 8 : ~0u;
  }

  // 1 / (1 - p), correctly rounded: the divisor is at least 2^-24, so one Newton step suffices.
  __device__ __forceinline__ float scale() const {
    const float divisor = 1.0f - p_;
    const float about = ptx::rcp_approx(divisor);
    return p_ < 1.0f ? fmaf(about, fmaf(-divisor, about, 1.0f), about) : 0.0f;
  }

  float p_;
  u64 seed_, offset_;
};

// Dropout of one element in fp64, by the definition's formula, for references.
__device__ __forceinline__ double exact_dropout(double value, float p, u64 seed, u64 offset, u64 row, u64 column) {
  const PhiloxWords words = philox4x32_10(
      {{static_cast<u32>(column / 4), static_cast<u32>(row), static_cast<u32>(offset), static_cast<u32>(offset >> 32)}},
      seed);
  const bool kept = static_cast<float>(words[static_cast<int>(column % 4)] >> 8) * 0x1p-24f >= p;
  return kept ? value / (1.0 - double{p}) : 0.0;
}

}  // namespace tilewright
