// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/config.cuh"

// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1,
// 2, 3", 2011) makes four words of a key and a counter, the same on every device and in any order. The key and the
// counter words that all threads share stay in uniform registers: a round costs two wide multiplications and two
// three-way xors.

namespace tilewright {

struct PhiloxWords {
  u32 words[4];

  __device__ __forceinline__ u32 operator[](int i) const { return words[i]; }
};

// Four random words of `counter` under `key`.
__device__ __forceinline__ PhiloxWords philox4x32_10(PhiloxWords counter, u64 key) {
  constexpr u32 kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  constexpr u32 kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  u32 key0 = static_cast<u32>(key), key1 = static_cast<u32>(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    counter = {{__umulhi(kMultiplier1, counter[2]) ^ counter[1] ^ key0, kMultiplier1 * counter[2],
                __umulhi(kMultiplier0, counter[0]) ^ counter[3] ^ key1, kMultiplier0 * counter[0]}};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

}  // namespace tilewright
