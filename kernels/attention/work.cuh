// SPDX-License-Identifier: Apache-2.0
#pragma once

// The work of attention, cut into pieces: block_m rows of one head (or of a few packed heads), against all keys that
// they see. Heads form sections whose keys and values stay in L2. In a section of a causal problem the longest pieces
// come first, so that short ones fill the gaps at the end. Sections differ by at most one head: a short last one would
// begin its long pieces when the others are done.
//
//   two sections of two heads, three blocks of rows      heads      0 1    2  3
//                                                 last rows        0 1    6  7
//                                                                  2 3    8  9
//                                                 first rows       4 5   10 11

#include "device/config.cuh"

namespace tilewright::attention {

// The call, as all threads know it. Queries (times packed heads) and keys are at most 2^28, the window's sides at most
// 2^29, so that sums of three fit 32 bits.
struct Problem {
  i32 batches, heads, key_heads;  // b, hq, hkv
  i32 queries, keys;              // sq, sk
  i32 left, right;                // of the window; -1 is unlimited
  i32 sections;                   // of heads that share L2; one to as many as there are packs of heads
};

__device__ __forceinline__ Problem make_problem(i64 b, i64 hq, i64 hkv, i64 sq, i64 sk, i32 left, i32 right,
                                                i64 sections) {
  constexpr i32 kFarthest = 1 << 29;  // from any query to any key
  const auto side = [&](i32 value) { return value < kFarthest ? value : kFarthest; };
  return {static_cast<i32>(b),  static_cast<i32>(hq), static_cast<i32>(hkv), static_cast<i32>(sq),
          static_cast<i32>(sk), side(left),           side(right),           static_cast<i32>(sections)};
}

// A piece. `head` is the first query head of the pack.
struct Work {
  i32 row, head, batch;
  i32 first_block, last_block;  // of keys; at least one, though its keys may all be masked
  i32 is_end;
};

// The keys that queries first_token to last_token see: from `first` up to, and without, `end`.
struct KeyRange {
  i32 first, end;
};

template <bool kCausal, bool kWindow>
__device__ __forceinline__ KeyRange keys_of(const Problem& problem, i32 first_token, i32 last_token) {
  KeyRange range{0, problem.keys};
  const i32 diagonal = problem.keys - problem.queries;
  const auto clamp = [&](i32 key) { return key < 0 ? 0 : key > problem.keys ? problem.keys : key; };
  if constexpr (kWindow) {
    if (problem.left >= 0) range.first = clamp(first_token + diagonal - problem.left);
    const i32 right = kCausal ? 0 : problem.right;
    if (right >= 0) range.end = clamp(last_token + diagonal + right + 1);
  } else if constexpr (kCausal) {
    range.end = clamp(last_token + diagonal + 1);
  }
  return range;
}

// The keys of a row of a head (or of packed heads).
template <class Config>
__device__ __forceinline__ KeyRange keys_of_row(const Problem& problem, i32 row) {
  return keys_of<Config::causal == "yes", Config::window == "yes">(problem, row / Config::pack, row / Config::pack);
}

// Pieces by number.
template <class Config>
struct Order {
  u32 packs;  // of heads, of all batches
  u32 row_blocks;
  u32 pieces;

  __device__ __forceinline__ explicit Order(const Problem& problem)
      : packs(static_cast<u32>(problem.batches) * static_cast<u32>(problem.heads / Config::pack)),
        row_blocks(static_cast<u32>(ceil_div(i64{problem.queries} * Config::pack, i64{Config::block_m}))),
        pieces(packs * row_blocks) {}

  __device__ __forceinline__ Work work(const Problem& problem, u32 index) const {
    constexpr bool kCausal = Config::causal == "yes", kWindow = Config::window == "yes";
    // Sections of `width` packs; the first ones have one more.
    const u32 sections = static_cast<u32>(problem.sections);
    u32 width = packs / sections;
    const u32 wider = packs - width * sections;
    u32 first_pack = 0, inside = index;
    if (const u32 in_wider = wider * (width + 1) * row_blocks; index >= in_wider) {
      first_pack = wider * (width + 1);
      inside -= in_wider;
    } else {
      ++width;
    }
    const u32 number = inside / (width * row_blocks);
    inside -= number * width * row_blocks;
    first_pack += number * width;
    const u32 row_block = inside / width;
    const u32 pack = first_pack + inside - row_block * width;
    const u32 packs_of_batch = static_cast<u32>(problem.heads / Config::pack);

    Work work{};
    work.row = static_cast<i32>((kCausal ? row_blocks - 1 - row_block : row_block) * Config::block_m);
    work.batch = static_cast<i32>(pack / packs_of_batch);
    work.head = static_cast<i32>(pack % packs_of_batch) * Config::pack;
    const KeyRange range =
        keys_of<kCausal, kWindow>(problem, work.row / Config::pack, (work.row + Config::block_m - 1) / Config::pack);
    const i32 last = ceil_div(range.end, i32{Config::block_n}) - 1;
    work.first_block = range.first / Config::block_n;
    if (work.first_block > last) work.first_block = last;
    work.last_block = last;
    if (last < 0) work.first_block = work.last_block = 0;
    return work;
  }
};

}  // namespace tilewright::attention
