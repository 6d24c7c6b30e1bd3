// SPDX-License-Identifier: Apache-2.0
#pragma once

// Division by a divisor that the host knows at launch.

#include "device/config.cuh"

namespace tilewright {

// i / divisor for i < 2^31 and 1 <= divisor < 2^31. A definition computes `inverse` as the sum of two parts:
//
//   shift = ⌈log2 divisor⌉                    upper 32 bits   4294967296 * log2(pow2_ceil(divisor)) +
//   factor = ⌈2^(31 + shift) / divisor⌉       lower 32 bits   ceil_div(2147483648 * pow2_ceil(divisor), divisor)
//
// i · factor / 2^(31 + shift) exceeds i / divisor by less than 1 / divisor, so it does not reach the next integer
// (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994).
__device__ __forceinline__ u32 divide_by_inverse(u32 i, u64 inverse) {
  return __umulhi(i << 1, static_cast<u32>(inverse)) >> static_cast<u32>(inverse >> 32);
}

}  // namespace tilewright
