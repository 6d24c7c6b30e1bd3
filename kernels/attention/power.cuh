// SPDX-License-Identifier: Apache-2.0
#pragma once

// 2^x without the special-function unit, which gives a multiprocessor 16 results a clock: where exponentials take as long as the
// products, some of them come from here, by multiplications that have clocks to spare.
//
//   x = n + f, n whole and |f| ≤ 1/2      2^x = 2^n · p(f)      p of degree 3 by Remez, off by 7.5e-5 of the result at most
//
// Adding 1.5 · 2^23 rounds x to n, which then stands in the lowest bits of the sum; they are added to p's exponent. x is kept within
// −126 … 127 by a multiplication that saturates: 2^−126 is nothing beside any other weight, and 2^127 more than any sum may be
// (softmax.cuh). NaN becomes 2^−126.

#include "device/config.cuh"

namespace tilewright::attention {

inline constexpr float kPowerLow = -126.0f, kPowerRange = 253.0f;

// 2^(a · b + c), of b / 253 and (c + 126) / 253.
__device__ __forceinline__ float power_of_two(float a, float b_part, float c_part) {
  constexpr float kRound = 12582912.0f;
  constexpr u32 kMantissaBits = 23;
  const float part = __saturatef(fmaf(a, b_part, c_part));
  const float rounded = fmaf(part, kPowerRange, kRound + kPowerLow);
  const float f = fmaf(part, kPowerRange, kRound + kPowerLow - rounded);
  const float p = fmaf(fmaf(fmaf(0.055171669f, f, 0.24261112f), f, 0.69326099f), f, 0.99992807f);
  return __builtin_bit_cast(float,
                            (__builtin_bit_cast(u32, rounded) << kMantissaBits) + __builtin_bit_cast(u32, p));
}

}  // namespace tilewright::attention
