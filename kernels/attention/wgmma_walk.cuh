// SPDX-License-Identifier: Apache-2.0
#pragma once

// A consumer's way through the blocks of keys of a piece, last to first, and the masks. A block is masked only if a row
// of the warp does not see all of it; blocks at the end that no row of the warpgroup sees are skipped.

#include "softmax.cuh"
#include "wgmma_geometry.cuh"
#include "work.cuh"

namespace tilewright::attention {

// Tells the compiler that a value is the same in all lanes, so it takes a uniform register; the others are scarce.
__device__ __forceinline__ i32 uniform(i32 value) { return __shfl_sync(kFullMask, value, 0); }

// A piece as a consumer goes through it: the blocks still to come, and the blocks that all rows of the warp see whole.
template <class Config>
struct Walk {
  using G = Geometry<Config>;

  i32 block, first_block;
  i32 whole_first, whole_end;

  // Returns the number of last blocks that no row of the warpgroup sees.
  __device__ __forceinline__ i32 begin(const Problem& problem, const Work& work, i32 warp_row) {
    const i32 last_block = uniform(work.last_block);
    block = last_block;
    first_block = uniform(work.first_block);
    if constexpr (G::kSkips) {
      const i32 last_row = work.row + (warp_row / G::kWarpgroupRows + 1) * G::kWarpgroupRows - 1;
      const i32 own = uniform(ceil_div(keys_of_row<Config>(problem, last_row).end, i32{G::kBlockN}) - 1);
      block = own < first_block ? first_block : own;
    }
    // The first row's keys end first, the last row's begin last.
    const i32 first_row = work.row + warp_row;
    const i32 end = keys_of_row<Config>(problem, first_row).end;
    whole_end = uniform(end / G::kBlockN);
    if constexpr (G::kWindow) {
      whole_first = uniform(ceil_div(keys_of_row<Config>(problem, first_row + 15).first, i32{G::kBlockN}));
    }
    return last_block - block;
  }
  __device__ __forceinline__ bool is_last() const { return block == first_block; }
  __device__ __forceinline__ bool is_whole() const {
    return block < whole_end && (!G::kWindow || block >= whole_first);
  }
};

// Masks a thread's rows, `row` and the eighth behind it.
template <class Config>
__device__ __forceinline__ void mask_block(float (&scores)[Geometry<Config>::kScores], const Problem& problem, i32 row,
                                           i32 block, int lane) {
  using G = Geometry<Config>;
  const i32 own_key = block * G::kBlockN + lane % 4 * 2;
  i32 first[2], end[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const KeyRange range = keys_of_row<Config>(problem, row + half * 8);
    first[half] = range.first - own_key;
    end[half] = range.end - own_key;
  }
  mask_scores<G::kWindow>(scores, first, end);
}

}  // namespace tilewright::attention
