// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of ops on n elements without rows: y[i] = f(inputs[…][i], i). flat.toml beside it has the space and the
// launch formulas.
//
//   tile    | thread 0 … thread T-1 | thread 0 … thread T-1 | …   unroll times, kVec elements each
//
// All loads of a tile are in flight before its first result is computed. Vectors are placed for y (row/span.cuh).
// Edges, the elements before the first vector and behind the last, take a thread each. With ragged = 0 all tensors
// start on a vector. y may be the first input, but no other.
//
// The function object has
//   template <int kMultiple, int kInputs, int N>
//   void apply(float (&values)[kInputs][N], i64 first) const;
// It leaves its N results in values[0]; `first`, a multiple of kMultiple, is the index of values[…][0].

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/elementwise/hints.cuh"
#include "device/row/span.cuh"
#include "device/vector.cuh"

namespace tilewright::elementwise {

// The type of `other` for ops with one input.
struct NoInput {};

template <class Config, class Function, class T, class Other>
__device__ __forceinline__ void flat(const T* x, Other other, T* y, i64 n, const Function& function) {
  constexpr int kVec = Config::vec;
  constexpr bool kRagged = Config::ragged != 0;
  constexpr int kInputs = is_same<Other, NoInput> ? 1 : 2;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  constexpr i64 kTile = i64{kThreads} * Config::unroll;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(4 * kVec <= kThreads, "a thread an edge");

  using Span = row::Span<kVec, kRagged, i64, kRagged ? margin_of<kVec>() : 0>;
  using FirstReader = row::RowReader<T, kVec, kRagged, kLoadOfFirst<Config>>;
  using OtherReader = row::RowReader<T, kVec, kRagged, kLoadOfOthers<Config>>;
  const Span span(y, n);
  const i64 begin = span.column(0);
  const FirstReader first_reader(x + begin);
  OtherReader other_reader;
  if constexpr (kInputs == 2) other_reader = OtherReader(other + begin);

  // Processes kCount vectors from vector `from` on, kThreads apart.
  const auto process = [&]<int kCount>(i64 from) {
    typename FirstReader::Vectors loaded[kCount];
    typename OtherReader::Vectors beside[kInputs == 2 ? kCount : 1];
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      const i64 ahead = from * kVec + u * kThreads * kVec;
      loaded[u] = first_reader.load(ahead);
      if constexpr (kInputs == 2) beside[u] = other_reader.load(ahead);
    }
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      const i64 column = begin + from * kVec + u * kThreads * kVec;
      float values[kInputs][kVec];
      to_float(first_reader.take(loaded[u]), values[0]);
      if constexpr (kInputs == 2) to_float(other_reader.take(beside[u]), values[1]);
      function.template apply<kRagged ? 1 : kVec>(values, column);
      store_vector<kStoreOfY<Config>>(y + column, from_float<T>(values[0]));
    }
  };

  // Processes the tile that starts at vector `tile`. In a partial tile each thread loops over its vectors; the last
  // tile takes the edges.
  const i64 vectors = span.vectors();
  const auto process_tile = [&](i64 tile) {
    if (tile + kTile <= vectors) {
      process.template operator()<Config::unroll>(tile + threadIdx.x);
      return;
    }
#pragma unroll 1
    for (i64 i = tile + threadIdx.x; i < vectors; i += kThreads) process.template operator()<1>(i);
    const int edges = (tile + kTile) * kVec >= n ? static_cast<int>(n - vectors * kVec) : 0;
    if (static_cast<int>(threadIdx.x) < edges) {
      const i64 column = kRagged ? i64{span.edge_column(static_cast<int>(threadIdx.x))} : vectors * kVec + threadIdx.x;
      float values[kInputs][1];
      values[0][0] = to_float(x[column]);
      if constexpr (kInputs == 2) values[1][0] = to_float(other[column]);
      function.template apply<1>(values, column);
      y[column] = from_float<T>(values[0][0]);
    }
  };
  if constexpr (Config::persistent == 0) {
    process_tile(blockIdx.x * kTile);
  } else {
    for (i64 tile = blockIdx.x * kTile; tile * kVec < n; tile += gridDim.x * kTile) process_tile(tile);
  }
}

}  // namespace tilewright::elementwise
