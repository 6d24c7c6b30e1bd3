// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of ops that see their tensors as n elements without rows: y[i] = f(inputs[…][i], i). Its space and launch
// formulas are in flat.toml beside it.
//
//   tile    | thread 0 … thread T-1 | thread 0 … thread T-1 | …   unroll times, kVec elements each
//
// All loads of a tile are under way before its first result is needed. Vectors are placed for y (row/span.cuh); what lies
// before the first and behind the last of them, the edges, has a thread an element. With ragged = 0 all tensors start on a
// vector. y may be the first input, and no other.
//
// The function is an object with
//   template <int kMultiple, int kInputs, int N>
//   void apply(float (&values)[kInputs][N], i64 first) const;
// which leaves the N results in values[0]; `first`, a multiple of kMultiple, is the index of values[…][0].

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/elementwise/hints.cuh"
#include "device/row/span.cuh"
#include "device/vector.cuh"

namespace tilewright::elementwise {

// For `other`, where there is only one input.
struct NoInput {};

template <class Config, class Function, class T, class Other>
__device__ __forceinline__ void flat(const T* x, Other other, T* y, i64 n, const Function& function) {
  constexpr int kVec = Config::vec;
  constexpr bool kRagged = Config::ragged != 0;
  constexpr int kInputs = is_same<Other, NoInput> ? 1 : 2;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  constexpr i64 kTile = i64{kThreads} * Config::unroll;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(2 * (kVec - 1) <= kThreads, "a thread an edge");

  const row::Span<kVec, kRagged, i64> span(y, n);
  const row::RowReader<T, kVec, kRagged, kLoadOfFirst<Config>> first_input(x, n, span);
  row::RowReader<T, kVec, kRagged, kLoadOfOthers<Config>> other_input;
  if constexpr (kInputs == 2) other_input = {other, n, span};

  // kCount vectors, kThreads apart.
  const auto process = [&]<int kCount>(i64 first) {
    Vector<T, kVec> loaded[kCount][kInputs];
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      const i64 column = span.column(first + u * kThreads);
      loaded[u][0] = first_input.load(column);
      if constexpr (kInputs == 2) loaded[u][1] = other_input.load(column);
    }
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      const i64 column = span.column(first + u * kThreads);
      float values[kInputs][kVec];
#pragma unroll
      for (int input = 0; input < kInputs; ++input) to_float(loaded[u][input], values[input]);
      function.template apply<kRagged ? 1 : kVec>(values, column);
      store_vector<kStoreOfY<Config>>(y + column, from_float<T>(values[0]));
    }
  };

  // Tiles. Of the last one, which need not be whole, each thread takes the vectors that there are.
  const i64 vectors = span.vectors();
  for (i64 tile = blockIdx.x * kTile; tile < vectors; tile += gridDim.x * kTile) {
    if (tile + kTile <= vectors) {
      process.template operator()<Config::unroll>(tile + threadIdx.x);
    } else {
#pragma unroll 1
      for (i64 i = tile + threadIdx.x; i < vectors; i += kThreads) process.template operator()<1>(i);
    }
  }

  // Edges.
  const int edges = kRagged ? span.edges() : static_cast<int>(n - vectors * kVec);
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < edges) {
    const i64 column = span.edge_column(static_cast<int>(threadIdx.x));
    float values[kInputs][1];
    values[0][0] = to_float(x[column]);
    if constexpr (kInputs == 2) values[1][0] = to_float(other[column]);
    function.template apply<1>(values, column);
    y[column] = from_float<T>(values[0][0]);
  }
}

}  // namespace tilewright::elementwise
