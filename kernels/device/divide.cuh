// SPDX-License-Identifier: Apache-2.0
#pragma once

// Division by what the host knows when it launches.

#include "device/config.cuh"

namespace tilewright {

// i / divisor for i < 2^31 and 1 <= divisor < 2^31, as a multiplication and a shift. `inverse` has both, and a definition
// computes it as a value:
//
//   shift = ⌈log2 divisor⌉                    above bit 32   4294967296 * log2(pow2_ceil(divisor)) +
//   factor = ⌈2^(31 + shift) / divisor⌉       below it       ceil_div(2147483648 * pow2_ceil(divisor), divisor)
//
// factor = (2^(31 + shift) + e) / divisor with 0 <= e < divisor <= 2^shift, so that i · factor / 2^(31 + shift) is more than
// i / divisor by i · e / 2^(31 + shift) / divisor < 1 / divisor: it never reaches the next whole number. (Granlund and
// Montgomery, Division by Invariant Integers using Multiplication, 1994.)
__device__ __forceinline__ u32 divide_by_inverse(u32 i, u64 inverse) {
  return __umulhi(i << 1, static_cast<u32>(inverse)) >> static_cast<u32>(inverse >> 32);
}

}  // namespace tilewright
