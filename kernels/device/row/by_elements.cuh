// SPDX-License-Identifier: Apache-2.0
#pragma once

// Row ops by single elements, the slow way: for tensors whose rows are aligned differently, so that no vector of one is
// a vector of the others. All threads of a block take one row after the other.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/row/statistics.cuh"
#include "device/row/tensors.cuh"
#include "device/shared.cuh"
#include "device/unaligned.cuh"

namespace tilewright::row {

template <int kVec, class A, class B>
__device__ __forceinline__ bool in_step(const Matrix<A>& a, const Matrix<B>& b) {
  return phase_of<kVec>(a.base) == phase_of<kVec>(b.base) && (a.pitch - b.pitch) % kVec == 0;
}

// Whether in each row the vectors of the first output are vectors of all inputs and outputs. The same for all threads
// of the grid.
template <int kVec, class Op>
__device__ __forceinline__ bool in_step(const Op& op) {
  const auto& lead = op.tensors.outputs[0];
  bool all = true;
#pragma unroll
  for (int input = 0; input < Op::kInputs; ++input) all = all && in_step<kVec>(op.tensors.inputs[input], lead);
#pragma unroll
  for (int output = 1; output < Op::kOutputs; ++output) all = all && in_step<kVec>(op.tensors.outputs[output], lead);
  return all;
}

// Processes the rows [first, first + count) below `rows`. All threads of the block must call. Shared memory: num_warps
// partials.
template <class Config, class Op>
__device__ __forceinline__ void by_elements(const Op& op, i64 first, i64 count, i64 rows, i64 cols) {
  using T = typename Op::T;
  using Statistics = typename Op::Statistics;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  const i64 end = min(first + count, rows);
  for (i64 r = first; r < end; ++r) {
    const auto value_at = [&](i64 c) {
      float in[Op::kInputs];
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) in[input] = to_float(op.tensors.inputs[input].row(r)[c]);
      return op.value(in);
    };

    // Pass one: gather the row's statistics.
    auto partial = Statistics::nothing();
#pragma unroll 1
    for (i64 c = threadIdx.x; c < cols; c += kThreads) {
      float values[1] = {value_at(c)};
      Statistics::add(partial, values, valid_if<1, 1>([](int) { return true; }));
    }
    const auto warp = Statistics::template over_lanes<kWarpSize>(partial);
    auto* const slots = shared_storage<typename Statistics::Partial>();
    const auto whole =
        merge_warps<Statistics, Config::num_warps>(warp, slots, static_cast<int>(threadIdx.x) / kWarpSize);
    const auto scale = op.template scale<false>(warp, whole, cols);

    // Pass two: compute the results.
#pragma unroll 1
    for (i64 c = threadIdx.x; c < cols; c += kThreads) {
      const float values[1] = {value_at(c)};
      float along[at_least_one(Op::kColumns)][1];
      float results[Op::kOutputs][1];
#pragma unroll
      for (int column = 0; column < Op::kColumns; ++column) along[column][0] = to_float(op.tensors.columns[column][c]);
      op.template results<false>(values, scale, along, results);
#pragma unroll
      for (int output = 0; output < Op::kOutputs; ++output) {
        op.tensors.outputs[output].row(r)[c] = from_float<T>(results[output][0]);
      }
    }
    __syncthreads();  // the next row reuses the slots
  }
}

}  // namespace tilewright::row
