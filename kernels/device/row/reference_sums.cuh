// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/config.cuh"

// Sums in a reference, which is one kernel: many threads add to one output in fp64. An output is NaN before a reference
// runs, and the first addition replaces it, so nothing needs clearing. The order of additions is not fixed; it affects
// only the last bits of fp64.

namespace tilewright::row {

__device__ __forceinline__ void add_to_sum(double* sum, double value) {
  auto* const bits = reinterpret_cast<unsigned long long*>(sum);
  unsigned long long seen = atomicCAS(bits, 0ULL, 0ULL), expected;
  do {
    expected = seen;
    const double before = __builtin_bit_cast(double, expected);
    const double after = before != before ? value : before + value;
    seen = atomicCAS(bits, expected, __builtin_bit_cast(unsigned long long, after));
  } while (seen != expected);
}

}  // namespace tilewright::row
