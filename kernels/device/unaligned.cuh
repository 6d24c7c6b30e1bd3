// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors at addresses aligned only to an element.
//
//   memory     …|a b|c d|e f|g h|…      three halves of a vector at aligned addresses hold the wanted elements, here b
//   wanted         |b c d e|            c d e: they are loaded whole, then shifted by a word and by half a word
//
// Loading and shifting are two steps, so a kernel has all loads in flight before it waits for one. The halves reach up
// to margin_of<kVec>() elements past either end of the vector.

#include "device/ptx/cp_async.cuh"
#include "device/vector.cuh"

namespace tilewright {

// Elements from the last address aligned to kVec elements to `address`.
template <int kVec, class T>
__device__ __forceinline__ int phase_of(const T* address) {
  return static_cast<int>(reinterpret_cast<u64>(address) / sizeof(T) % kVec);
}

// Elements read with a vector beside either end.
template <int kVec>
__device__ constexpr int margin_of() {
  return kVec < 4 ? 0 : kVec / 2 - 1;
}

// A vector as loaded. kAligned: its address is aligned, and it is loaded as one.
template <class T, int kVec, bool kAligned>
struct Arriving {
  enum : int { kHalf = kVec / 2 };
  Packed<T, kHalf> halves[3];
};
template <class T, int kVec>
struct Arriving<T, kVec, true> {
  Packed<T, kVec> whole;
};

// The skew of vectors that all lie equally far, less than half a vector, behind an address aligned to half a vector.
// That aligned address names a vector.
template <class T, int kVec, bool kAligned>
class Skew {
 public:
  using Vectors = Arriving<T, kVec, kAligned || kVec == 1>;

  __device__ __forceinline__ Skew() : elements_(0) {}
  // For vectors that lie as the one at `first` does.
  __device__ __forceinline__ explicit Skew(const T* first) : elements_(kWhole ? 0 : phase_of<kHalf>(first)) {}

  __device__ __forceinline__ const T* aligned(const T* first) const { return kWhole ? first : first - elements_; }

  // Starts to load a vector.
  template <Load How>
  __device__ __forceinline__ Vectors load(const T* aligned) const {
    if constexpr (kWhole) {
      return {load_packed<kVec, How>(aligned)};
    } else {
      return {{load_packed<kHalf, How>(aligned), load_packed<kHalf, How>(aligned + kHalf),
               load_packed<kHalf, How>(aligned + last())}};
    }
  }

  // Starts to copy a vector to shared memory, by cp.async through L1.
  __device__ __forceinline__ void copy(Vectors* to, const T* aligned) const {
    if constexpr (kWhole) {
      ptx::cp_async_cached<kVec * sizeof(T)>(&to->whole, aligned);
    } else {
      ptx::cp_async_cached<kHalf * sizeof(T)>(&to->halves[0], aligned);
      ptx::cp_async_cached<kHalf * sizeof(T)>(&to->halves[1], aligned + kHalf);
      ptx::cp_async_cached<kHalf * sizeof(T)>(&to->halves[2], aligned + last());
    }
  }

  // The vector, once it has arrived.
  __device__ __forceinline__ Packed<T, kVec> take(const Vectors& from) const {
    if constexpr (kWhole) {
      return from.whole;
    } else {
      struct Words {
        u32 words[kWords + kWords / 2];
      };
      struct Result {
        u32 words[kWords];
      };
      Words moved = __builtin_bit_cast(Words, from);
      const u32 bytes = static_cast<u32>(elements_) * sizeof(T);
      if constexpr (kWords == 4) {
        const bool moves = bytes >= 4;
#pragma unroll
        for (int w = 0; w < 5; ++w) moved.words[w] = moves ? moved.words[w + 1] : moved.words[w];
      }
      Result result;
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        result.words[w] =
            sizeof(T) >= 4 ? moved.words[w] : __funnelshift_r(moved.words[w], moved.words[w + 1], bytes % 4 * 8);
      }
      return __builtin_bit_cast(Packed<T, kVec>, result);
    }
  }

 private:
  // The offset of the last of the three halves. Unskewed vectors do not need it, and memory may end before it.
  __device__ __forceinline__ int last() const { return elements_ != 0 ? kVec : kHalf; }

  enum : bool { kWhole = kAligned || kVec == 1 };
  enum : int { kHalf = kWhole ? 1 : kVec / 2, kWords = static_cast<int>(kVec * sizeof(T) / 4) };
  static_assert(kWhole || kHalf * sizeof(T) >= 4, "half a vector is whole words");

  int elements_;
};

}  // namespace tilewright
