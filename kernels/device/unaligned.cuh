// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors at addresses that are only aligned to an element.
//
//   memory     …|a b c d|e f g h|…      two vectors at aligned addresses hold what is wanted, here b c d e:
//   wanted         |b c d e|            they are loaded whole, and shifted by words and then by half a word

#include "device/vector.cuh"

namespace tilewright {

// How many elements `address` lies past an address that is aligned to a vector.
template <int kVec, class T>
__device__ __forceinline__ int phase_of(const T* address) {
  return static_cast<int>(reinterpret_cast<u64>(address) / sizeof(T) % kVec);
}

namespace detail {

// `words` moved down by `bytes` (0 to the vector's size less one), in steps of a power of two. No branch: every lane of a
// warp may have a shift of its own.
template <int kWords>
__device__ __forceinline__ void shift_words(u32 (&words)[2 * kWords], u32 bytes) {
#pragma unroll
  for (int step = kWords / 2; step >= 1; step /= 2) {
    const bool moves = (bytes & (4 * step)) != 0;
#pragma unroll
    for (int w = 0; w + step < 2 * kWords; ++w) words[w] = moves ? words[w + step] : words[w];
  }
#pragma unroll
  for (int w = 0; w < kWords; ++w) words[w] = __funnelshift_r(words[w], words[w + 1], bytes % 4 * 8);
}

}  // namespace detail

// The kVec elements from `first` on, which lie in [begin, end); nothing outside that range is read.
template <int kVec, Load How = Load::kDefault, class T>
__device__ __forceinline__ Vector<T, kVec> load_unaligned(const T* first, const T* begin, const T* end) {
  constexpr int kWords = static_cast<int>(kVec * sizeof(T) / 4);
  if constexpr (kVec == 1) {
    return load_vector<1, How>(first);
  } else {
    const int phase = phase_of<kVec>(first);
    if (phase == 0) return load_vector<kVec, How>(first);
    const T* const aligned = first - phase;
    if (kWords == 0 || aligned < begin || end - aligned < 2 * kVec) {
      Vector<T, kVec> vector;
#pragma unroll
      for (int j = 0; j < kVec; ++j) vector[j] = first[j];
      return vector;
    }
    if constexpr (kWords > 0) {
      struct Pair {
        Vector<T, kVec> low, high;
      };
      struct Words {
        u32 words[2 * kWords];
      };
      auto both = __builtin_bit_cast(
          Words, Pair{load_vector<kVec, How>(aligned), load_vector<kVec, How>(aligned + kVec)});
      detail::shift_words<kWords>(both.words, static_cast<u32>(phase * sizeof(T)));
      return __builtin_bit_cast(Pair, both).low;
    }
  }
}

}  // namespace tilewright
