// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies dense rows of any length to rows at multiples of 128 bytes, as tensor maps need them.
//
//   from   |r r r r r r r r r|s s s s s s s s s|t …        `columns` elements a row, aligned to an element
//   to     |r r r r r r r r|r 0 0 0 0 0 0 0| … |s s …      vectors of 16 bytes, as many as hold the row
//
// Zeros fill the last vector. The rest up to the next row is not written, and a map of `columns` does not read it. A
// thread takes several vectors of a tile, and loads all before it stores one. Rows at multiples of 8 bytes are read by
// half vectors, others by whole ones that are shifted into place. Vectors are counted over all rows in 32 bits, enough
// for 64 GiB.

#include "device/unaligned.cuh"
#include "device/vector.cuh"

namespace tilewright::gemm {

template <class T>
class RowPadding {
 public:
  enum : int {
    kVec = static_cast<int>(16 / sizeof(T)),
    kThreads = 256,
    kBlocksPerSm = 5,  // at least: memory latency needs 32 KiB in flight on an SM
    kUnroll = 2,
    kTile = kThreads * kUnroll,  // vectors per block
    kPitchBytes = 128,
    kHalfBytes = 8,
  };

  __device__ __forceinline__ RowPadding(i64 rows, i64 columns)
      : columns_(columns),
        elements_(rows * columns),
        pitch_(round_up(columns, i64{kPitchBytes} / static_cast<i64>(sizeof(T)))),
        vectors_of_row_(static_cast<u32>(ceil_div(columns, i64{kVec}))),
        vectors_(static_cast<u32>(rows) * vectors_of_row_) {}

  // Rows that a map can describe need no copy.
  __device__ __forceinline__ bool needed() const { return columns_ * static_cast<i64>(sizeof(T)) % 16 != 0; }
  __device__ __forceinline__ u32 tiles() const { return needed() ? ceil_div(vectors_, u32{kTile}) : 0; }

  // Copies the part of block `tile`.
  __device__ __forceinline__ void copy(const T* from, T* to, u32 tile) const {
    if ((reinterpret_cast<u64>(from) | static_cast<u64>(columns_) * sizeof(T)) % kHalfBytes == 0) {
      copy_halves(from, to, tile);
    } else {
      copy_unaligned(from, to, tile);
    }
  }

 private:
  struct Place {
    i64 element, target;  // the vector's first, in `from` and in `to`
    int count;            // of its elements that lie in the row
    bool exists;
    bool inside;  // the margins read with it lie in the matrix too
  };

  // Copies vectors by aligned halves.
  __device__ __forceinline__ void copy_halves(const T* from, T* to, u32 tile) const {
    struct alignas(16) Halves {
      Packed<T, kVec / 2> first, second;
    };
    Place places[kUnroll];
    Halves halves[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Place& at = places[u] = place(tile, u);
      halves[u] = {};
      if (!at.exists) continue;
      halves[u].first = load_packed<kVec / 2>(from + at.element);
      if (at.count > kVec / 2) halves[u].second = load_packed<kVec / 2>(from + at.element + kVec / 2);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (!places[u].exists) continue;
      store_vector(to + places[u].target, unpack(__builtin_bit_cast(Packed<T, kVec>, halves[u])));
    }
  }

  __device__ __forceinline__ void copy_unaligned(const T* from, T* to, u32 tile) const {
    Place places[kUnroll];
    Skew<T, kVec, false> skews[kUnroll];
    Arriving<T, kVec, false> arriving[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      places[u] = place(tile, u);
      if (!places[u].inside) continue;
      const T* const first = from + places[u].element;
      skews[u] = Skew<T, kVec, false>(first);
      arriving[u] = skews[u].template load<Load::kDefault>(skews[u].aligned(first));
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Place& at = places[u];
      if (!at.exists) continue;
      const T zero = unpack<T, 1>({})[0];
      if (at.inside) {
        auto vector = unpack(skews[u].take(arriving[u]));
        if (at.count < kVec) {
#pragma unroll
          for (int j = 0; j < kVec; ++j) vector[j] = j < at.count ? vector[j] : zero;
        }
        store_vector(to + at.target, vector);
        continue;
      }
      // Copy the matrix's ends by elements.
#pragma unroll 1
      for (int j = 0; j < kVec; ++j) to[at.target + j] = j < at.count ? from[at.element + j] : zero;
    }
  }

  __device__ __forceinline__ Place place(u32 tile, int u) const {
    const u32 vector = tile * kTile + static_cast<u32>(u) * kThreads + threadIdx.x;
    const u32 row = vector / vectors_of_row_;
    const i64 column = i64{vector - row * vectors_of_row_} * kVec;
    const i64 element = row * columns_ + column;
    constexpr int kMargin = margin_of<kVec>();
    const bool exists = vector < vectors_;
    return {element, row * pitch_ + column, static_cast<int>(columns_ - column < kVec ? columns_ - column : i64{kVec}),
            exists, exists && element >= kMargin && element + kVec + kMargin <= elements_};
  }

  i64 columns_, elements_, pitch_;
  u32 vectors_of_row_, vectors_;
};

}  // namespace tilewright::gemm
