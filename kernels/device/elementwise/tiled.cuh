// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of ops on matrices: y[r][c] = f(x[r][c], b, r, c), with b = bias[c] or up[r][c]. tiled.toml beside it
// has the space and the launch formulas.
//
//   block       threads_per_row × at once          columns →
//               t0 t1 t2 … | t0 t1 t2 …            a block has threads_per_row vectors of the rows that its
//   rows ↓      t0 t1 t2 … | t0 t1 t2 …            threads cover at once, rows_per_thread times. A thread stays in
//               ─ step ─                           its columns, so its part of the bias is loaded once.
//
// Vectors are placed for y (row/span.cuh); edges of ragged rows take a thread each. Ragged rows of one thread lie a
// multiple of kVec apart, so their vectors are placed alike, whatever the width and the pitch. y may be x itself.
//
// The function object has
//   template <int kMultiple, int N>
//   void apply(float (&x)[N], const float (&other)[N], i64 row, i64 column) const;
// It leaves its N results in x; `column`, a multiple of kMultiple, is that of x[0].

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
  // The distance from an element to the one `rows` rows below.
  __device__ __forceinline__ i64 below(i64 rows) const { return rows * pitch; }
};

// A tensor that all rows share.
template <class T>
struct Bias {
  const T* begin;

  __device__ __forceinline__ const T* row(i64) const { return begin; }
  __device__ __forceinline__ i64 below(i64) const { return 0; }
};

// kInStep: the vectors of y are vectors of x too.
template <class Config, bool kInStep, class T, class Other, class Function>
__device__ __forceinline__ void tiled_in_step(Rows<const T> x, Other other, Rows<T> y, i64 rows, i64 width,
                                              const Function& function) {
  constexpr int kVec = Config::vec;
  constexpr bool kRagged = Config::ragged != 0;
  constexpr bool kBias = is_same<Other, Bias<T>>;
  constexpr int kAtOnce = Config::num_warps * kWarpSize / Config::threads_per_row;
  constexpr int kStep = kRagged && kAtOnce < kVec ? kVec : kAtOnce;
  constexpr int kInterleaved = kStep / kAtOnce;  // tiles whose rows interleave
  constexpr int kRows = Config::rows_per_thread;
  constexpr int kMultiple = kRagged ? 1 : kVec;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::num_warps * kWarpSize % Config::threads_per_row == 0,
                "threads_per_row must divide the threads");

  using Span = row::Span<kVec, kRagged, i64, kRagged ? margin_of<kVec>() : 0>;
  using XReader = row::RowReader<T, kVec, !kInStep, kLoadOfFirst<Config>>;
  using OtherReader = row::RowReader<T, kVec, kRagged, kBias ? Load::kConstant : kLoadOfOthers<Config>>;
  constexpr u32 kAcross = Config::threads_per_row;
  const i64 item = i64{blockIdx.x} * kAcross + threadIdx.x % kAcross;
  const i64 tile = i64{blockIdx.z} * gridDim.y + blockIdx.y;
  const i64 first = tile / kInterleaved * (kStep * kRows) + tile % kInterleaved * kAtOnce + threadIdx.x / kAcross;
  if (first >= rows) return;
  const Span span(y.row(first), width);

  // Process a vector of each row.
  if (item < span.vectors()) {
    const i64 column = span.column(item);
    const XReader x_reader(x.row(first) + column);
    const OtherReader other_reader(other.row(first) + column);
    T* const y_vector = y.row(first) + column;

    // Processes rows first + kStep · u for u from `from` on. Issues all loads, also the bias's, before the first use.
    const auto process = [&]<int kCount>(i64 from) {
      typename XReader::Vectors loaded[kCount];
      typename OtherReader::Vectors beside[kBias ? 1 : kCount];
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        loaded[u] = x_reader.load(x.below((from + u) * kStep));
        if (!kBias || u == 0) beside[u] = other_reader.load(other.below((from + u) * kStep));
      }
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        float values[kVec];
        float others[kVec];
        to_float(x_reader.take(loaded[u]), values);
        to_float(other_reader.take(beside[kBias ? 0 : u]), others);
        function.template apply<kMultiple>(values, others, first + (from + u) * kStep, column);
        store_vector<kStoreOfY<Config>>(y_vector + y.below((from + u) * kStep), from_float<T>(values));
      }
    };
    if (first + (kRows - 1) * kStep < rows) {
      process.template operator()<kRows>(0);
    } else {
#pragma unroll 1
      for (i64 u = 0; first + u * kStep < rows; ++u) process.template operator()<1>(u);
    }
    return;
  }

  // Process an edge of each row.
  if constexpr (kRagged) {
    const i64 edge = item - span.vectors();
    if (edge >= span.edges()) return;
    const i64 column = span.edge_column(static_cast<int>(edge));
    for (i64 r = first; r < rows && r < first + kStep * kRows; r += kStep) {
      float value[1] = {to_float(x.row(r)[column])};
      const float beside[1] = {to_float(other.row(r)[column])};
      function.template apply<1>(value, beside, r, column);
      y.row(r)[column] = from_float<T>(value[0]);
    }
  }
}

template <class Config, class T, class Other, class Function>
__device__ __forceinline__ void tiled(Rows<const T> x, Other other, Rows<T> y, i64 rows, i64 width,
                                      const Function& function) {
  constexpr int kVec = Config::vec;
  if (Config::ragged == 0 || (phase_of<kVec>(x.begin) == phase_of<kVec>(y.begin) && (x.pitch - y.pitch) % kVec == 0)) {
    tiled_in_step<Config, true, T>(x, other, y, rows, width, function);
  } else if constexpr (Config::ragged != 0) {
    tiled_in_step<Config, false, T>(x, other, y, rows, width, function);
  }
}

}  // namespace tilewright::elementwise
