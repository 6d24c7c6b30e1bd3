// SPDX-License-Identifier: Apache-2.0
#pragma once

// A block's tile of an operand in shared memory, and a warp's loads of mma fragments from it. A row of the tile is
// contiguous in memory: block_k elements of a k-major operand, else kExtent elements of m or n for one k.
//
// Rows are cut into units of 16 bytes. Unit u of row r has a place by which 8 lanes that read down a column of units
// meet 8 different groups of banks:
//
//   u ^ r % 8           rows of 128 bytes and more
//   u ^ r / 2 % 4       rows of 64 bytes, two of which share a line of banks
//   u ^ 2 (r % 4)       tf32 that is not k-major, read by elements: 4 rows × 8 neighbours are 32 banks
//
// ldmatrix transposes matrices of 16-bit elements on the way, but not of 32-bit elements.

#include "device/ptx/ldmatrix.cuh"
#include "device/ptx/mma.cuh"

namespace tilewright::gemm {

// The side of an operand in mma. Of its four 8 × 16-byte matrices two are adjacent in m or n, two in k; a numbers the
// former first, b the latter.
enum class Side { kA, kB };

template <class T, Side kSide, bool kKMajor, int kExtent, int kBlockK>
struct MmaTile {
  using Element = T;
  enum : bool { kByElements = sizeof(T) == 4 && !kKMajor };
  enum : int {
    kTileExtent = kExtent,
    kTileK = kBlockK,
    kRows = kKMajor ? kExtent : kBlockK,
    kRowBytes = static_cast<int>((kKMajor ? kBlockK : kExtent) * sizeof(T)),
    kBytes = kRows * kRowBytes,
    // The k of one mma.
    kStep = static_cast<int>(32 / sizeof(T)),
    kSteps = kBlockK / kStep,
  };
  static_assert(kRowBytes == 64 || kRowBytes % 128 == 0, "rows are half of a line of banks, or whole ones");
  static_assert(!kByElements || kRowBytes % 128 == 0, "rows of single elements are whole lines of banks");

  // Where byte `byte` of row `row` lies in the tile.
  __device__ static __forceinline__ int place(int row, int byte) {
    const int swizzle = kByElements ? (row & 3) << 1 : kRowBytes == 64 ? row >> 1 & 3 : row & 7;
    return row * kRowBytes + (byte ^ swizzle << 4);
  }

  // A lane's place in the fragments from row `first` (of m or n) on: it is fixed, and offsets to other fragments are
  // compile-time constants. `first` is a multiple of the span of the warp's fragments.
  __device__ static __forceinline__ int lane_place(int first, int lane) {
    if constexpr (kByElements) return place(lane % 4, (first + lane / 4) * 4);
    const int matrix = lane / 8;
    const int half_extent = kSide == Side::kA ? matrix % 2 : matrix / 2;
    const int half_k = kSide == Side::kA ? matrix / 2 : matrix % 2;
    if constexpr (kKMajor) return place(first + half_extent * 8 + lane % 8, half_k * 16);
    return place(half_k * 8 + lane % 8, (first + half_extent * 8) * static_cast<int>(sizeof(T)));
  }

  // Loads 16 rows of m or n, from 16 · index, in step `step` of k: one fragment of a, or two of 8 rows of b.
  __device__ static __forceinline__ void load(u32 (&to)[4], const unsigned char* tile, int lane_place, int index,
                                              int step) {
    if constexpr (kKMajor) {
      ptx::ldmatrix_x4(to, tile + (lane_place ^ step * 32) + index * 16 * kRowBytes);
    } else if constexpr (!kByElements) {
      ptx::ldmatrix_x4_trans(to, tile + (lane_place ^ index * 32) + step * kStep * kRowBytes);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int half_extent = kSide == Side::kA ? i % 2 : i / 2;
        const int half_k = kSide == Side::kA ? i / 2 : i % 2;
        const int at = (lane_place ^ (index * 64 + half_extent * 32)) + (step * kStep + half_k * 4) * kRowBytes;
        to[i] = *reinterpret_cast<const u32*>(tile + at);
      }
    }
    if constexpr (sizeof(T) == 4) {
#pragma unroll
      for (u32& element : to) element = ptx::round_to_tf32(__builtin_bit_cast(float, element));
    }
  }
};

// d += a · b for 16 × 8 elements of c.
template <class T>
__device__ __forceinline__ void mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  if constexpr (is_same<T, float>) {
    ptx::mma_m16n8k8_tf32(d, a, b, d);
  } else if constexpr (is_same<T, __half>) {
    ptx::mma_m16n8k16_f16(d, a, b, d);
  } else {
    ptx::mma_m16n8k16_bf16(d, a, b, d);
  }
}

}  // namespace tilewright::gemm
