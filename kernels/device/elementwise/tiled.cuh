// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of ops on matrices: y[r][c] = f(x[r][c], b, r, c), where b is bias[c] or up[r][c]. Its space and launch
// formulas are in tiled.toml beside it.
//
//   block       threads_per_row × at once          columns →
//               t0 t1 t2 … | t0 t1 t2 …            a block has threads_per_row vectors of some rows: those that its threads
//   rows ↓      t0 t1 t2 … | t0 t1 t2 …            cover at once, rows_per_thread times. A thread stays in its columns, so
//               ─ step ─                           that its part of the bias is loaded once.
//
// Vectors are placed for y (row/span.cuh), and the edges of ragged rows have a thread an element. The rows of a thread lie
// apart by a multiple of kVec where they are ragged: so their vectors are placed alike, whatever the width and the pitch.
// y may be x itself.
//
// The function is an object with
//   template <int kMultiple, int N>
//   void apply(float (&x)[N], const float (&other)[N], i64 row, i64 column) const;
// which leaves its N results in x; `column`, a multiple of kMultiple, is that of x[0].

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/elementwise/hints.cuh"
#include "device/row/span.cuh"
#include "device/vector.cuh"

namespace tilewright::elementwise {

// A matrix by its rows, `pitch` elements apart.
template <class T>
struct Rows {
  T* begin;
  i64 pitch;

  __device__ __forceinline__ T* row(i64 r) const { return begin + r * pitch; }
};

// The same in every row.
template <class T>
struct Bias {
  const T* begin;

  __device__ __forceinline__ const T* row(i64) const { return begin; }
};

template <class Config, class T, class Other, class Function>
__device__ __forceinline__ void tiled(Rows<const T> x, Other other, Rows<T> y, i64 rows, i64 width,
                                      const Function& function) {
  constexpr int kVec = Config::vec;
  constexpr bool kRagged = Config::ragged != 0;
  constexpr bool kBias = is_same<Other, Bias<T>>;
  constexpr int kAtOnce = Config::num_warps * kWarpSize / Config::threads_per_row;
  constexpr int kStep = kRagged && kAtOnce < kVec ? kVec : kAtOnce;
  constexpr int kInterleaved = kStep / kAtOnce;  // tiles that have rows in turn
  constexpr int kRows = Config::rows_per_thread;
  constexpr int kMultiple = kRagged ? 1 : kVec;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::num_warps * kWarpSize % Config::threads_per_row == 0,
                "threads_per_row must divide the threads");

  using Span = row::Span<kVec, kRagged, i64>;
  using XReader = row::RowReader<T, kVec, kRagged, kLoadOfFirst<Config>>;
  using OtherReader = row::RowReader<T, kVec, kRagged, kBias ? Load::kConstant : kLoadOfOthers<Config>>;
  const int row_in_block = static_cast<int>(threadIdx.x) / Config::threads_per_row;
  const i64 item = i64{blockIdx.x} * Config::threads_per_row + threadIdx.x % Config::threads_per_row;

  const i64 tiles = ceil_div<i64>(rows, kStep * kRows) * kInterleaved;
  for (i64 tile = blockIdx.y; tile < tiles; tile += gridDim.y) {
    const i64 first = tile / kInterleaved * (kStep * kRows) + tile % kInterleaved * kAtOnce + row_in_block;
    if (first >= rows) continue;
    const i64 left = (rows - first + kStep - 1) / kStep;  // rows of this thread, were there no end to the tile
    const Span span(y.row(first), width);

    // A vector of each row.
    if (item < span.vectors()) {
      const i64 column = span.column(item);
      float bias[kVec];
      if constexpr (kBias) to_float(OtherReader(other.begin, width, span).load(column), bias);

      const auto process = [&]<int kCount>(i64 from) {
        Vector<T, kVec> loaded[kCount][kBias ? 1 : 2];
#pragma unroll
        for (int u = 0; u < kCount; ++u) {
          const i64 r = from + u * kStep;
          loaded[u][0] = XReader(x.row(r), width, span).load(column);
          if constexpr (!kBias) loaded[u][1] = OtherReader(other.row(r), width, span).load(column);
        }
#pragma unroll
        for (int u = 0; u < kCount; ++u) {
          const i64 r = from + u * kStep;
          float values[kVec];
          to_float(loaded[u][0], values);
          if constexpr (!kBias) to_float(loaded[u][1], bias);
          function.template apply<kMultiple>(values, bias, r, column);
          store_vector<kStoreOfY<Config>>(y.row(r) + column, from_float<T>(values));
        }
      };
      if (left >= kRows) {
        process.template operator()<kRows>(first);
      } else {
#pragma unroll 1
        for (i64 u = 0; u < left; ++u) process.template operator()<1>(first + u * kStep);
      }
      continue;
    }

    // An edge of each row.
    if constexpr (kRagged) {
      const i64 edge = item - span.vectors();
      if (edge >= span.edges()) continue;
      const i64 column = span.edge_column(static_cast<int>(edge));
      for (i64 r = first; r < rows && r < first + kStep * kRows; r += kStep) {
        float value[1] = {to_float(x.row(r)[column])};
        const float beside[1] = {to_float(other.row(r)[column])};
        function.template apply<1>(value, beside, r, column);
        y.row(r)[column] = from_float<T>(value[0]);
      }
    }
  }
}

}  // namespace tilewright::elementwise
