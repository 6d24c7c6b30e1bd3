// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/philox.cuh"

// Philox4x32-10 on a grid of counters {group, row, offset's lower word, its upper word}: the words are those of
// philox.cuh. Most of the first three rounds depends on the row or the group alone. With that part kept for each row
// and group, 15 of 20 multiplications remain.
//
//   round   word 0         1       2                     3        r: of the row, g: of the group, …: of both
//   1       r              const   g                     g
//   2       g              g       r.high ^ g[0]         r.low
//   3       … ^ g[1]       …       g[2] ^ r.low          g[3]

namespace tilewright {

class PhiloxGrid {
 public:
  struct Row {
    u32 high, low;
  };
  using Group = PhiloxWords;

  __device__ __forceinline__ PhiloxGrid(u64 key, u64 offset) : key_(key), offset_(offset) {}

  __device__ __forceinline__ Row row(u32 row) const {
    const u32 word = __umulhi(kMultiplier1, static_cast<u32>(offset_)) ^ row ^ key0(0);
    return {__umulhi(kMultiplier0, word), kMultiplier0 * word};
  }

  __device__ __forceinline__ Group group(u32 group) const {
    const u32 upper = __umulhi(kMultiplier0, group) ^ static_cast<u32>(offset_ >> 32) ^ key1(0);
    const u32 word = __umulhi(kMultiplier1, upper) ^ kMultiplier1 * static_cast<u32>(offset_) ^ key0(1);
    return {{kMultiplier0 * group ^ key1(1), kMultiplier1 * upper ^ key0(2), __umulhi(kMultiplier0, word) ^ key1(2),
             kMultiplier0 * word}};
  }

  __device__ __forceinline__ PhiloxWords words(const Row& row, const Group& group) const {
    const u32 met = row.high ^ group[0];
    PhiloxWords counter{{__umulhi(kMultiplier1, met) ^ group[1], kMultiplier1 * met, group[2] ^ row.low, group[3]}};
#pragma unroll
    for (u32 round = 3; round < 10; ++round) {
      counter = {{__umulhi(kMultiplier1, counter[2]) ^ counter[1] ^ key0(round), kMultiplier1 * counter[2],
                  __umulhi(kMultiplier0, counter[0]) ^ counter[3] ^ key1(round), kMultiplier0 * counter[0]}};
    }
    return counter;
  }

 private:
  static constexpr u32 kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  __device__ __forceinline__ u32 key0(u32 round) const { return static_cast<u32>(key_) + round * 0x9E3779B9u; }
  __device__ __forceinline__ u32 key1(u32 round) const { return static_cast<u32>(key_ >> 32) + round * 0xBB67AE85u; }

  u64 key_, offset_;
};

}  // namespace tilewright
