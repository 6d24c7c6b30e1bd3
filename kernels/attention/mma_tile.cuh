// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tiles of attention's mma kernel in shared memory, and their copies. A tile consists of parts of 64 columns (128
// bytes) of all its rows. Unit u (16 bytes) of row r of a part lies at place u ^ r % 8 of the row: 8 lanes that read
// down a column of units meet 8 different groups of banks.

#include "device/convert.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/ldmatrix.cuh"
#include "device/ptx/mma.cuh"
#include "device/vector.cuh"

namespace tilewright::attention {

template <class T, int kRows, int kColumns>
struct MmaTile {
  static_assert(sizeof(T) == 2 && kColumns % 16 == 0, "whole steps of 16-bit elements");
  enum : int {
    kRowBytes = 128,
    kUnitElements = 8,
    kUnits = kColumns / kUnitElements,  // per row
    kUnitsOfPart = 8,
    kParts = (kUnits + kUnitsOfPart - 1) / kUnitsOfPart,
    kBytes = kRows * kParts * kRowBytes,
  };

  __device__ static __forceinline__ int place(int row, int unit) {
    return (unit / kUnitsOfPart * kRows + row) * kRowBytes + ((unit ^ row) & (kUnitsOfPart - 1)) * 16;
  }

  // Copies rows 0 … rows - 1, and zeros for missing rows and columns. `from(row)` is the start of a row, at a multiple
  // of kVec bytes: 16, copied asynchronously, or one element.
  template <int kVec, int kThreads, class From>
  __device__ static __forceinline__ void load(unsigned char* tile, int rows, int columns, int thread, From from) {
#pragma unroll
    for (int first = 0; first < kRows * kUnits; first += kThreads) {
      const int i = first + thread;
      if (kRows * kUnits % kThreads != 0 && i >= kRows * kUnits) break;
      const int row = i / kUnits, unit = i % kUnits;
      const bool exists = row < rows && unit * kUnitElements < columns;
      const T* const source = from(exists ? row : 0) + (exists ? unit * kUnitElements : 0);
      unsigned char* const to = tile + place(row, unit);
      if constexpr (kVec == 16) {
        ptx::cp_async_zero_fill<16>(to, source, exists ? 16 : 0);
      } else {
        Vector<T, kUnitElements> elements;
#pragma unroll
        for (int e = 0; e < kUnitElements; ++e) elements[e] = exists ? source[e] : T(0.0f);
        store_vector(reinterpret_cast<T*>(to), elements);
      }
    }
  }

  // Loads mma's A: 16 rows from `row` on, step `step` of the columns.
  __device__ static __forceinline__ void load_a(u32 (&to)[4], const unsigned char* tile, int row, int step, int lane) {
    const int matrix = lane / 8;
    ptx::ldmatrix_x4(to, tile + place(row + matrix % 2 * 8 + lane % 8, step * 2 + matrix / 2));
  }
  // Loads mma's B for 16 rows of the tile, which are columns of the product: two fragments.
  __device__ static __forceinline__ void load_b(u32 (&to)[4], const unsigned char* tile, int row, int step, int lane) {
    const int matrix = lane / 8;
    ptx::ldmatrix_x4(to, tile + place(row + matrix / 2 * 8 + lane % 8, step * 2 + matrix % 2));
  }
  // Loads mma's B if rows of the tile are summed over: 16 rows, and 16 columns from 16 · group on.
  __device__ static __forceinline__ void load_b_transposed(u32 (&to)[4], const unsigned char* tile, int row, int group,
                                                           int lane) {
    const int matrix = lane / 8;
    ptx::ldmatrix_x4_trans(to, tile + place(row + matrix % 2 * 8 + lane % 8, group * 2 + matrix / 2));
  }
};

// sums += a · b for 16 rows and twice 8 columns; b has two fragments.
template <class T>
__device__ __forceinline__ void multiply_16(float* sums, const u32 (&a)[4], const u32 (&b)[4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const u32 pair[2] = {b[2 * half], b[2 * half + 1]};
    float(&four)[4] = *reinterpret_cast<float(*)[4]>(sums + half * 4);
    if constexpr (is_same<T, __nv_bfloat16>) {
      ptx::mma_m16n8k16_bf16(four, a, pair, four);
    } else {
      ptx::mma_m16n8k16_f16(four, a, pair, four);
    }
  }
}

}  // namespace tilewright::attention
