// SPDX-License-Identifier: Apache-2.0
#pragma once

// A thread's share of copying tile after tile of an operand, along k, into shared memory laid out by MmaTile. A copy
// has kVec bytes, which divide all row lengths of the operand: it lies inside, or outside, and then zeros fill its
// place. Copies of 4 bytes and more are asynchronous; single 16-bit elements go through registers.

#include "device/ptx/cp_async.cuh"
#include "layout.cuh"
#include "mma_tile.cuh"

namespace tilewright::gemm {

template <class Tile, class Operand, int kVec, int kThreads>
class MmaCopy {
 public:
  // Begins at row `first` (of m or n) and block `block` of kBlockK columns.
  __device__ __forceinline__ MmaCopy(const Operand& operand, i64 first, u32 block, int thread)
      : thread_(thread), pitch_(operand.pitch()) {
    const i64 column = i64{block} * kBlockK;
    k_left_ = operand.k - column;
    extent_left_ = clamp(operand.extent - first, kExtent);
    from_ = operand.at(first, column) + i64{row(0)} * pitch_ + element(0);
  }

  // Starts the next tile's copies.
  __device__ __forceinline__ void load(unsigned char* tile) {
    const int k_left = clamp(k_left_, kBlockK);
    const int rows_left = kKMajor ? extent_left_ : k_left;
    const int elements_left = kKMajor ? k_left : extent_left_;
    const T* from = from_;
    if constexpr (kVec >= 4) {
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        if (!exists(i)) break;
        const bool inside = row(i) < rows_left && element(i) < elements_left;
        ptx::cp_async_zero_fill<kVec>(tile + place(i), from, inside ? kVec : 0);
        from += step(i);
      }
    } else {
      // Keep eight loads in flight.
      constexpr int kAtOnce = 8;
#pragma unroll
      for (int first = 0; first < kCopies; first += kAtOnce) {
        T elements[kAtOnce];
#pragma unroll
        for (int i = first; i < first + kAtOnce && i < kCopies; ++i) {
          if (!exists(i)) break;
          elements[i - first] = row(i) < rows_left && element(i) < elements_left ? *from : T(0.0f);
          from += step(i);
        }
#pragma unroll
        for (int i = first; i < first + kAtOnce && i < kCopies; ++i) {
          if (exists(i)) *reinterpret_cast<T*>(tile + place(i)) = elements[i - first];
        }
      }
    }
    from_ += kKMajor ? kBlockK : kBlockK * pitch_;
    k_left_ -= kBlockK;
  }

 private:
  using T = typename Tile::Element;
  enum : bool { kKMajor = Operand::kKMajor };
  enum : int {
    kExtent = Tile::kTileExtent,
    kBlockK = Tile::kTileK,
    kElements = static_cast<int>(kVec / sizeof(T)),
    kOfRow = Tile::kRowBytes / kVec,  // copies
    kAll = Tile::kRows * kOfRow,
    kCopies = (kAll + kThreads - 1) / kThreads,
    // Threads go along rows: several rows at once, or one row in several turns.
    kTurns = kOfRow > kThreads ? kOfRow / kThreads : 1,
    kRowsAtOnce = kOfRow > kThreads ? 1 : kThreads / kOfRow,
  };
  static_assert(kOfRow % kThreads == 0 || kThreads % kOfRow == 0, "threads share rows evenly");

  __device__ static __forceinline__ int clamp(i64 value, int most) {
    return static_cast<int>(value < most ? value : most);
  }
  // The row of the thread's copy `i` in the tile, and its first element there.
  __device__ __forceinline__ int row(int i) const {
    return kTurns > 1 ? i / kTurns : thread_ / kOfRow + i * kRowsAtOnce;
  }
  __device__ __forceinline__ int element(int i) const {
    return (kTurns > 1 ? thread_ + i % kTurns * kThreads : thread_ % kOfRow) * kElements;
  }
  __device__ __forceinline__ int place(int i) const {
    return Tile::place(row(i), element(i) * static_cast<int>(sizeof(T)));
  }
  __device__ __forceinline__ bool exists(int i) const { return kAll % kThreads == 0 || row(i) < Tile::kRows; }
  // The distance from the source of copy `i` to the next one's.
  __device__ __forceinline__ i64 step(int i) const {
    if constexpr (kTurns == 1) return kRowsAtOnce * pitch_;
    constexpr int kTurn = kThreads * kElements;
    return (i + 1) % kTurns != 0 ? i64{kTurn} : pitch_ - (kTurns - 1) * kTurn;
  }

  const T* from_;  // source of copy 0 of the next tile
  int thread_;
  i64 pitch_;
  i64 k_left_;
  int extent_left_;
};

}  // namespace tilewright::gemm
