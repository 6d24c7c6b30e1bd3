// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of one to four rows, whose time is that of reading the weights: a warp multiplies a row of each weight by all
// rows of a, with no shared memory and no barrier.
//
//   a row of weights   lane l has the vectors l, l + 32, … of 8 elements: a warp reads 512 bytes at one time
//   a set              of Config::unroll vectors of each weight is under way at one time, while other warps multiply;
//                      that of the warp's next column while lanes are added
//   a                  from L1, where it stays: a block that starts has nothing to wait for
//   sums               in fp32; lanes are added by butterflies
//
// Rows of a and of the weights are multiples of 16 bytes in address and length.

#include "config.cuh"
#include "device/convert.cuh"
#include "device/reduce.cuh"

namespace tilewright::gemm {

// So many weights have rows of one length, `pitch` elements apart.
template <class T, int kMatrices>
struct DotsWeights {
  const T* rows[kMatrices];
  i64 pitch;
};

template <class Config, int kMatrices>
struct Dots {
  using T = typename Config::dtype;
  using Weights = DotsWeights<T, kMatrices>;
  enum : int {
    kVec = 16 / static_cast<int>(sizeof(T)),
    kRows = Config::block_m,
    kUnroll = Config::unroll,
    kSet = kUnroll * kWarpSize,  // vectors of a row
  };
  using Words = Packed<T, kVec>;
  struct Set {
    Words words[kMatrices][kUnroll];
  };
  using Sums = float[kMatrices][kRows];

  const T* a;
  Weights weights;
  i64 m, n, k;
  int lane, vectors;  // of a row

  __device__ __forceinline__ Dots(const T* a_, const Weights& weights_, i64 m_, i64 n_, i64 k_)
      : a(a_),
        weights(weights_),
        m(m_),
        n(n_),
        k(k_),
        lane(static_cast<int>(threadIdx.x) % kWarpSize),
        vectors(static_cast<int>(k_ / kVec)) {}

  // Of a column, the vectors from `first` on; zeros beyond the row and beyond the last column.
  __device__ __forceinline__ void load(Set& set, i64 column, int first) const {
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      const int vector = first + i * kWarpSize + lane;
#pragma unroll
      for (int matrix = 0; matrix < kMatrices; ++matrix) {
        Words& words = set.words[matrix][i];
        words = {};
        if (column < n && vector < vectors) {
          words = load_packed<kVec, Load::kReadOnly>(weights.rows[matrix] + column * weights.pitch + vector * kVec);
        }
      }
    }
  }

  __device__ __forceinline__ void multiply(Sums& sums, const Set& set, int first) const {
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      const int vector = first + i * kWarpSize + lane;
      float weight[kMatrices][kVec];
#pragma unroll
      for (int matrix = 0; matrix < kMatrices; ++matrix) to_float(set.words[matrix][i], weight[matrix]);
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        // Sums of rows that a lacks are those of its last row; nobody stores them.
        const i64 at = kRows == 1 ? 0 : min(i64{row}, m - 1) * k;
        Words words = {};
        if (vector < vectors) words = read_a(at + vector * kVec);
        float from_a[kVec];
        to_float(words, from_a);
#pragma unroll
        for (int matrix = 0; matrix < kMatrices; ++matrix) {
#pragma unroll
          for (int e = 0; e < kVec; ++e) sums[matrix][row] = fmaf(weight[matrix][e], from_a[e], sums[matrix][row]);
        }
      }
    }
  }

  // `begin()` is called when the first weights are under way, before a is read. `results` has the epilogue: GatedResults
  // of two weights, Output of one.
  template <class Begin, class Results>
  __device__ __forceinline__ void run(const Begin& begin, const Results& results) const {
    const i64 stride = i64{gridDim.x} * Config::num_warps;
    i64 column = i64{blockIdx.x} * Config::num_warps + static_cast<int>(threadIdx.x) / kWarpSize;
    Set set;
    load(set, column, 0);
    begin();
#pragma unroll 1
    while (column < n) {
      Sums sums = {};
#pragma unroll 1
      for (int first = 0;;) {
        multiply(sums, set, first);
        first += kSet;
        if (first >= vectors) break;
        load(set, column, first);
      }
      const i64 done = column;
      column += stride;
      load(set, column, 0);
#pragma unroll
      for (auto& of_matrix : sums) {
#pragma unroll
        for (float& sum : of_matrix) sum = reduce_lanes<kWarpSize>(sum, Sum{});
      }
      store(sums, results, done);
    }
  }

 private:
  // All lanes have all sums; the lane of a row's number stores it.
  template <class Results>
  __device__ __forceinline__ void store(const Sums& sums, const Results& results, i64 column) const {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (lane != row || row >= m) continue;
      float first[1] = {sums[0][row]};
      if constexpr (kMatrices == 2) {
        float second[1] = {sums[1][row]};
        results.store(first, second, row, column);
      } else {
        results.store(first, row, column);
      }
    }
  }

  // Where a kernel before may write a, after it has ended: a load that is not moved.
  __device__ __forceinline__ Words read_a(i64 place) const {
    if constexpr (requires { Config::kWaitsForA; }) {
      return load_packed<kVec>(a + place);
    } else {
      return load_packed<kVec, Load::kConstant>(a + place);
    }
  }
};

}  // namespace tilewright::gemm
