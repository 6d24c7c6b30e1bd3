// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pairs of neighbours in the op's dtype, as products take weights and as results are stored.

#include "device/convert.cuh"

namespace tilewright::attention {

// Rounds two neighbours.
template <class T>
__device__ __forceinline__ u32 round_pair(float low, float high) {
  const float pair[2] = {low, high};
  return __builtin_bit_cast(u32, from_float<T>(pair));
}

// Adds both elements of a pair to a sum.
template <class T>
__device__ __forceinline__ float add_pair(float sum, u32 pair) {
  float values[2];
  to_float(Packed<T, 2>{{pair}}, values);
  return sum + values[0] + values[1];
}

// Rounds the weights of step `step`, 16 keys, to an operand of mma or wgmma, from scores in the layout of either.
template <class T, int kScores>
__device__ __forceinline__ void round_step(u32 (&weights)[4], const float (&scores)[kScores], int step) {
#pragma unroll
  for (int i = 0; i < 4; ++i) weights[i] = round_pair<T>(scores[step * 8 + 2 * i], scores[step * 8 + 2 * i + 1]);
}

}  // namespace tilewright::attention
