// SPDX-License-Identifier: Apache-2.0
#pragma once

// Computes a block's scores again, by one warp for its own 16 rows, from queries and keys that are still in shared
// memory. It serves the rare block whose scores are so far above earlier ones that its weights leave fp32
// (softmax.cuh): short code, and slow.

#include "mma_tile.cuh"
#include "wgmma_geometry.cuh"

namespace tilewright::attention {

// `q` is the warp's first row. Scores get wgmma's layout.
template <class Config>
__device__ __forceinline__ void score_again(float (&scores)[Geometry<Config>::kScores], const unsigned char* q,
                                            const unsigned char* k, int lane) {
  using G = Geometry<Config>;
  using T = typename G::T;
  // A tile of as many rows as lie between its parts.
  using TileQ = MmaTile<T, static_cast<int>(G::kNextOfQueries / G::kRowBytes), G::kHead>;
  using TileK = MmaTile<T, G::kBlockN, G::kHead>;
#pragma unroll
  for (int i = 0; i < G::kScores; ++i) scores[i] = 0.0f;
#pragma unroll 1
  for (int step = 0; step < G::kSteps; ++step) {
    u32 a[4];
    TileQ::load_a(a, q, 0, step, lane);
#pragma unroll
    for (int group = 0; group < G::kBlockN / 16; ++group) {
      u32 b[4];
      TileK::load_b(b, k, group * 16, step, lane);
      multiply_16<T>(scores + group * 8, a, b);
    }
  }
}

}  // namespace tilewright::attention
