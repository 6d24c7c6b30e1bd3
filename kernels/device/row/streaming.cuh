// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of a row op for rows of any width: a block per row, which it reads twice from memory.
//
//   Config   num_warps, vec, unroll, ragged
//   shared   2 × num_warps partials; sm_80 and later

#include "device/config.cuh"
#include "device/row/by_elements.cuh"
#include "device/row/passes.cuh"
#include "device/row/results.cuh"
#include "device/row/span.cuh"
#include "device/row/statistics.cuh"
#include "device/row/tensors.cuh"
#include "device/shared.cuh"

namespace tilewright::row {

template <class Config, class Op>
__device__ __forceinline__ void streaming(const Op& op, i64 rows, i64 cols) {
  using T = typename Op::T;
  using Statistics = typename Op::Statistics;
  using Partial = typename Statistics::Partial;
  constexpr int kVec = Config::vec;
  constexpr bool kRagged = Config::ragged != 0;
  using RowSpan = SpanOf<Op, kVec, kRagged, i64>;
  using Results = ResultRow<Op, kVec, kRagged>;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");

  // The inputs of a row, in memory.
  struct Source {
    const T* vectors[Op::kInputs];
    __device__ __forceinline__ Packed<T, kVec> load(int input, i64 i) const {
      return load_packed<kVec>(vectors[input] + i * kVec);
    }
  };

  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  int parity = 0;
  const bool slow = kRagged && !in_step<kVec>(op);
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x, parity ^= 1) {
    if (slow) {
      by_elements<Config>(op, r, 1, rows, cols);
      continue;
    }
    const RowSpan span(op.tensors.outputs[0].row(r), cols);
    const Range<i64> whole_row{0, span.vectors()};
    Source source;
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
      source.vectors[input] = op.tensors.inputs[input].row(r) + span.column(0);
    }
    const Edges<Config, Op, RowSpan> edges(op, r, span, true);

    // Pass one: gather the row's partial. Consecutive rows use different slots, so one barrier suffices.
    Partial mine = first_pass<Config>(op, whole_row, source);
    edges.first_pass(mine);
    mine = Statistics::template over_lanes<kWarpSize>(mine);
    Partial* const slots = shared_storage<Partial>() + parity * Config::num_warps;
    const Partial whole = merge_warps<Statistics, Config::num_warps>(mine, slots, warp);
    const auto scale = op.template scale<false>(mine, whole, cols);

    // Pass two: store the results.
    second_pass<Config>(op, whole_row, source, Results(op, r, span.column(0)), scale);
    edges.template second_pass<Results>(op, r, scale, span);
  }
}

}  // namespace tilewright::row
