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
    for (int w = 0; w < kWords + step; ++w) words[w] = moves ? words[w + step] : words[w];
  }
#pragma unroll
  for (int w = 0; w < kWords; ++w) words[w] = __funnelshift_r(words[w], words[w + 1], bytes % 4 * 8);
}

// A vector put together from elements, in a loop that is short in code: for the few at the ends of a row.
template <int kWords, class T>
__device__ __forceinline__ void gather_words(u32 (&words)[kWords], const T* first) {
  constexpr int kVec = kWords * 4 / static_cast<int>(sizeof(T));
  constexpr u32 kBits = 8 * sizeof(T);
#pragma unroll 1
  for (int j = 0; j < kVec; ++j) {
    const u32 element = __builtin_bit_cast(Word<sizeof(T)>, first[j]);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const u32 above = w + 1 < kWords ? words[w + 1] : element;
      words[w] = kBits == 32 ? above : __funnelshift_r(words[w], above, kBits % 32);
    }
  }
}

}  // namespace detail

// The kVec elements that start `phase` elements behind `aligned`, which is aligned to a vector: two vectors are read.
template <int kVec, Load How = Load::kDefault, class T>
__device__ __forceinline__ Vector<T, kVec> load_shifted(const T* aligned, int phase) {
  constexpr int kWords = static_cast<int>(kVec * sizeof(T) / 4);
  static_assert(kWords >= 1, "a vector is an element or whole words");
  struct Words {
    u32 words[2 * kWords];
  };
  struct Pair {
    Vector<T, kVec> low, high;
  };
  auto moved = __builtin_bit_cast(Words, Pair{load_vector<kVec, How>(aligned), load_vector<kVec, How>(aligned + kVec)});
  detail::shift_words<kWords>(moved.words, static_cast<u32>(phase * sizeof(T)));
  return __builtin_bit_cast(Pair, moved).low;
}

// The kVec elements from `first` on, one after the other.
template <int kVec, class T>
__device__ __forceinline__ Vector<T, kVec> load_elements(const T* first) {
  constexpr int kWords = static_cast<int>(kVec * sizeof(T) / 4);
  struct Words {
    u32 words[kWords];
  } moved = {};
  detail::gather_words<kWords>(moved.words, first);
  return __builtin_bit_cast(Vector<T, kVec>, moved);
}

// The kVec elements from `first` on, which lie in [begin, end); nothing outside that range is read.
template <int kVec, Load How = Load::kDefault, class T>
__device__ __forceinline__ Vector<T, kVec> load_unaligned(const T* first, const T* begin, const T* end) {
  if constexpr (kVec == 1) {
    return load_vector<1, How>(first);
  } else {
    const int phase = phase_of<kVec>(first);
    if (phase == 0) return load_vector<kVec, How>(first);
    const T* const aligned = first - phase;
    if (aligned < begin || end - aligned < 2 * kVec) return load_elements<kVec>(first);
    return load_shifted<kVec, How>(aligned, phase);
  }
}

}  // namespace tilewright
