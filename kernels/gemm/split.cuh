// SPDX-License-Identifier: Apache-2.0
#pragma once

// k split over kSplits blocks, each of which writes the sums over its part of k to a workspace. The block that arrives
// last adds them in the order of k, so that the same launch gives the same bits.
//
//   partials   workspace, tiles · kSplits · (floats of a tile) · 4 bytes, never cleared
//   counters   workspace, tiles · 4 bytes, cleared once: the last block of a tile resets its counter to 0
//
// A sum keeps its thread number: all blocks map threads to elements alike, and a thread reads the sums of the same
// thread in other blocks, 16 bytes next to its neighbours' 16 bytes.

#include "device/config.cuh"
#include "device/vector.cuh"

namespace tilewright::gemm {

// A part of k, in blocks of k. Parts differ by at most one block; a part is empty if there are fewer blocks than parts.
struct SplitRange {
  u32 first, count;
};

template <int kSplits>
__device__ __forceinline__ SplitRange split_range(u32 blocks_k, u32 split) {
  if constexpr (kSplits == 1) {
    return {0, blocks_k};
  } else {
    const u32 least = blocks_k / kSplits, more = blocks_k % kSplits;
    return {split * least + (split < more ? split : more), least + (split < more ? 1u : 0u)};
  }
}

// kThreads threads of a block, numbered from 0, call together; `sync` is a barrier of all of them. `sums` are a
// thread's own: rows of a multiple of 4. `shared_word` is in use until the next call's first sync.
//
//   if (!Split<Config::split_k, kThreads>::sum_up(sums, partials, counters, tile, split, thread, &word, sync)) return;
//   …                          only in the block that arrived last: `sums` are over all of k
template <int kSplits, int kThreads>
struct Split {
  template <int kRows, int kColumns, class Sync>
  __device__ static __forceinline__ bool sum_up(float (&sums)[kRows][kColumns], float* partials, u32* counters,
                                                u32 tile, u32 split, int thread, u32* shared_word, Sync sync) {
    if constexpr (kSplits == 1) {
      return true;
    } else {
      static_assert(kColumns % 4 == 0, "sums move by 16 bytes");
      constexpr i64 kPart = i64{kThreads} * kRows * kColumns;
      float* const parts = partials + i64{tile} * kSplits * kPart + thread * 4;
      store(sums, parts + split * kPart);

      // Publish the part before counting it.
      __threadfence();
      sync();
      if (thread == 0) *shared_word = atomicInc(&counters[tile], kSplits - 1);
      sync();
      if (*shared_word != kSplits - 1) return false;
      __threadfence();

      // Read the own part back too: kept beside the sum, it would double the registers.
      load<false>(sums, parts);
#pragma unroll 1
      for (int other = 1; other < kSplits; ++other) load<true>(sums, parts + other * kPart);
      return true;
    }
  }

 private:
  template <int kRows, int kColumns>
  __device__ static __forceinline__ void store(const float (&sums)[kRows][kColumns], float* part) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int column = 0; column < kColumns; column += 4) {
        Vector<float, 4> four;
#pragma unroll
        for (int i = 0; i < 4; ++i) four[i] = sums[row][column + i];
        store_vector(part + (row * kColumns + column) * kThreads, four);
      }
    }
  }

  template <bool kAdd, int kRows, int kColumns>
  __device__ static __forceinline__ void load(float (&sums)[kRows][kColumns], const float* part) {
    // The barriers bound the loads in flight: all at once would take registers that many sums do not leave.
    constexpr int kAtOnce = 8;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int column = 0; column < kColumns; column += 4) {
        const int index = row * kColumns + column;
        if (index > 0 && index % (4 * kAtOnce) == 0) __syncwarp();
        const auto four = load_vector<4, Load::kStreaming>(part + index * kThreads);
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[row][column + i] = kAdd ? sums[row][column + i] + four[i] : four[i];
      }
    }
  }
};

}  // namespace tilewright::gemm
