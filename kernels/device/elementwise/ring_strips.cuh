// SPDX-License-Identifier: Apache-2.0
#pragma once

// Like strips.cuh, for ops that compute as long as memory takes: rows travel to shared memory, and take no registers,
// while others are computed. An op is a class with
//
//   T, kInputs                  element type; number of matrices read
//   tensors                     row::RowTensors<T, kInputs, 1, 1>: the matrices, a tensor along the columns, the result
//   results(in, along, row, column, out)   a vector's elements: in[kInputs][N], along[N], out[N]
//
//   block       threads_per_row × rows at once     columns →
//               t0 t1 t2 … | t0 t1 t2 … | …        a thread keeps its columns, advances by the rows of
//   rows ↓      t0 t1 t2 … | t0 t1 t2 … | …        gridDim.y blocks, and sums its columns
//
//   stage 0     input 0: v0 v1 v2 …   input 1: v0 v1 v2 …      a ring of `stages` rows; vi is thread i's vector, which
//   stage 1     input 0: v0 v1 v2 …   input 1: v0 v1 v2 …      thread i alone copies and reads: no barrier
//
//   Config      num_warps, threads_per_row, vec (16 bytes), stages, blocks; static_dims with cols
//
// row/gradient_sums.cuh adds the blocks' sums of a column. The result may be an input: a thread writes only elements
// that it alone reads, after it has read them. Shared memory: the ring, later one float per element of the block's
// rows. sm_80 and later.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/store_whole.cuh"
#include "device/row/column_sums.cuh"
#include "device/row/tensors.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace tilewright::elementwise {

template <class Config, class Op>
__device__ __forceinline__ void ring_strips(const Op& op, const row::ColumnPartials& partials, i64 rows, i64 cols) {
  using T = typename Op::T;
  constexpr int kVec = Config::vec, kStages = Config::stages, kAcross = Config::threads_per_row;
  constexpr int kThreads = Config::num_warps * kWarpSize, kDown = kThreads / kAcross;
  static_assert(kVec * sizeof(T) == 16, "asynchronous copies move whole vectors of 16 bytes");
  static_assert(kThreads % kAcross == 0, "threads_per_row must divide the threads");
  const i64 width = Config::cols ? Config::cols : cols;
  const int across = static_cast<int>(threadIdx.x) % kAcross, down = static_cast<int>(threadIdx.x) / kAcross;
  const i64 column = (i64{blockIdx.x} * kAcross + across) * kVec;
  if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0) *partials.parts = gridDim.y;

  float sums[kVec] = {};
  if (column < width) {
    const i64 step = i64{gridDim.y} * kDown, begin = i64{blockIdx.y} * kDown + down;
    auto* const ring = shared_storage<Packed<T, kVec>>() + threadIdx.x;
    const auto slot_of = [&](int stage, int input) { return ring + (stage * Op::kInputs + input) * kThreads; };
    const T* from[Op::kInputs];
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) from[input] = op.tensors.inputs[input].row(begin) + column;
    T* to = op.tensors.outputs[0].row(begin) + column;
    // Fetches the thread's next row, if there is one.
    i64 fetched = begin;
    const auto fetch = [&](int stage) {
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) {
        if (fetched < rows) ptx::cp_async<16>(slot_of(stage, input), from[input]);
        from[input] += step * op.tensors.inputs[input].pitch;
      }
      ptx::cp_async_commit();
      fetched += step;
    };

    // Fill the ring.
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) fetch(stage);
    float along[kVec];
    to_float(load_packed<kVec, Load::kConstant>(op.tensors.columns[0] + column), along);

    // Compute row by row and add to the sums. Refill a stage as soon as its row is in registers.
    int stage = 0;
    for (i64 r = begin; r < rows; r += step) {
      ptx::cp_async_wait<kStages - 1>();
      Packed<T, kVec> taken[Op::kInputs];
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) taken[input] = *slot_of(stage, input);
      fetch(stage);
      if (++stage == kStages) stage = 0;

      float in[Op::kInputs][kVec], out[kVec];
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) to_float(taken[input], in[input]);
      op.results(in, along, r, column, out);
#pragma unroll
      for (int j = 0; j < kVec; ++j) sums[j] += out[j];
      ptx::store_whole(reinterpret_cast<Word<16>*>(to), pack(from_float<T>(out)).words[0]);
      to += step * op.tensors.outputs[0].pitch;
    }
    ptx::cp_async_wait<0>();
  }
  row::let_column_sums_start();

  // Sum the block's columns over its rows, in the memory of the ring.
  auto* const slots = shared_storage<float>();
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kVec; ++j) slots[(down * kVec + j) * kAcross + across] = sums[j];
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < kAcross * kVec; c += kThreads) {
    const i64 its_column = i64{blockIdx.x} * kAcross * kVec + c;
    if (its_column >= width) continue;
    float sum = 0.0f;
#pragma unroll 4
    for (int d = 0; d < kDown; ++d) sum += slots[(d * kVec + c % kVec) * kAcross + c / kVec];
    partials.row(0, blockIdx.y, gridDim.y)[its_column] = sum;
  }
}

}  // namespace tilewright::elementwise
