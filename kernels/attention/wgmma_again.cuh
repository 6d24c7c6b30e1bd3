// SPDX-License-Identifier: Apache-2.0
#pragma once

// A block's scores once more, by one warp for its own 16 rows, from queries and keys that still lie in shared memory:
// for the rare block whose scores are so far above those before it that its weights have left fp32 (softmax.cuh). Slow,
// and short.

#include "device/ptx/ldmatrix.cuh"
#include "device/ptx/mma.cuh"
#include "wgmma_geometry.cuh"

namespace tilewright::attention {

// `q` is the warp's first row. The result lies as wgmma leaves it.
template <class Config>
__device__ __forceinline__ void score_again(float (&scores)[Geometry<Config>::kScores], const unsigned char* q,
                                            const unsigned char* k, int lane) {
  using G = Geometry<Config>;
  using T = typename G::T;
  constexpr int kUnits = G::kRowBytes / 16;  // of a row in a part, swizzled by the row
  const auto unit = [](const unsigned char* tile, int rows, int row, int index) {
    return tile + (index / kUnits * rows + row) * G::kRowBytes + ((index ^ row) & (kUnits - 1)) * 16;
  };
  const int matrix = lane / 8, of_matrix = lane % 8;
#pragma unroll
  for (int i = 0; i < G::kScores; ++i) scores[i] = 0.0f;
#pragma unroll 1
  for (int step = 0; step < G::kSteps; ++step) {
    u32 a[4];
    ptx::ldmatrix_x4(a, unit(q, G::kBlockM, matrix % 2 * 8 + of_matrix, step * 2 + matrix / 2));
#pragma unroll
    for (int group = 0; group < G::kBlockN / 16; ++group) {
      u32 b[4];
      ptx::ldmatrix_x4(b, unit(k, G::kBlockN, group * 16 + matrix / 2 * 8 + of_matrix, step * 2 + matrix % 2));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const u32 pair[2] = {b[2 * half], b[2 * half + 1]};
        float(&sums)[4] = *reinterpret_cast<float(*)[4]>(&scores[group * 8 + half * 4]);
        if constexpr (is_same<T, __nv_bfloat16>) {
          ptx::mma_m16n8k16_bf16(sums, a, pair, sums);
        } else {
          ptx::mma_m16n8k16_f16(sums, a, pair, sums);
        }
      }
    }
  }
}

}  // namespace tilewright::attention
