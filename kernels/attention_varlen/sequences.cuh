// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sequences that follow one another: sequence b has the tokens from cu[b] up to, and without, cu[b + 1].

#include "device/config.cuh"

namespace tilewright::attention {

// The sequence with `token`, which must have one: the last non-empty one that begins at it or before.
__device__ __forceinline__ i64 sequence_with(const i32* cu, i64 batches, i64 token) {
  i64 first = 0, end = batches;
  while (end - first > 1) {
    const i64 middle = (first + end) / 2;
    if (cu[middle] <= token) {
      first = middle;
    } else {
      end = middle;
    }
  }
  return first;
}

}  // namespace tilewright::attention
