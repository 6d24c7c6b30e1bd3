// SPDX-License-Identifier: Apache-2.0
#pragma once

// The rows of a large problem that a reference computes: rows at the edges of tiles, and one of sixteen others.

#include "device/config.cuh"

namespace tilewright::attention {

// Row `row` of `rows` is token `token` of a sequence of `tokens`; it works on `others` tokens.
__device__ __forceinline__ bool is_sampled_row(i64 row, i64 rows, i64 token, i64 tokens, i64 others) {
  constexpr i64 kMostProducts = 1LL << 28;  // rows · others up to which all rows are computed
  if (rows <= kMostProducts / (others > 0 ? others : 1)) return true;
  const bool is_edge = token < 4 || token >= tokens - 4 || (token + 1) % 64 <= 1;
  return is_edge || (row * 2654435761u >> 12) % 16 == 0;
}

}  // namespace tilewright::attention
