// SPDX-License-Identifier: Apache-2.0
#pragma once

// Rows of 128 bytes, shared by the implementations: four instructions multiply 32 bytes each.

#include "device/config.cuh"
#include "device/ptx/mma.cuh"

namespace tilewright::mma_chains {

enum : int {
  kColumns = 256,  // rows of b, each a column of the product
  kRowBytes = 128,
  kRowWords = kRowBytes / 4,
  kParts = 4,  // of a row; one instruction takes one
};

// Two 16-bit elements as they are, or one f32 element as tf32.
template <class T>
__device__ __forceinline__ u32 operand(u32 word) {
  if constexpr (is_same<T, float>) {
    return ptx::round_to_tf32(__builtin_bit_cast(float, word));
  } else {
    return word;
  }
}

// Adds a row of D over the four lanes that have it: lane 4g + t has columns 2t and 2t + 1 of each 8.
__device__ __forceinline__ float over_quad(float value) {
  value += __shfl_xor_sync(kFullMask, value, 1);
  return value + __shfl_xor_sync(kFullMask, value, 2);
}

}  // namespace tilewright::mma_chains
