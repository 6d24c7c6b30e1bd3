// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of a row op whose rows stay in registers: read once, written once.
//
//   Config   num_warps, rows_per_block, vec, chunks, ragged, early_columns, warps_per_sm (run.cuh); static_dims (cols)
//   chunks   as many as hold a row, or one more from 12 on (onchip.toml). If `cols` is not constant, all needed chunks
//            but the last (of a ragged row, the last two) count as full
//   thread   t of a row holds its vectors t, t + threads_per_row, … (`chunks` of them), and edge t of a ragged row
//   shared   | num_warps partials | with early_columns = 2: chunks × columns × threads vectors |
//
// sm_80 and later.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/opaque.cuh"
#include "device/row/by_elements.cuh"
#include "device/row/results.cuh"
#include "device/row/span.cuh"
#include "device/row/statistics.cuh"
#include "device/row/tensors.cuh"
#include "device/shared.cuh"

namespace tilewright::row {

template <class Config, class Op>
__device__ __forceinline__ void onchip(const Op& op, i64 rows, i64 cols) {
  using T = typename Op::T;
  using Statistics = typename Op::Statistics;
  using Partial = typename Statistics::Partial;
  constexpr int kVec = Config::vec;
  constexpr int kChunks = Config::chunks;
  constexpr bool kRagged = Config::ragged != 0;
  constexpr int kThreadsPerRow = Config::num_warps * kWarpSize / Config::rows_per_block;
  constexpr int kLanes = kThreadsPerRow < kWarpSize ? kThreadsPerRow : kWarpSize;
  constexpr int kWarpsPerRow = kThreadsPerRow / kLanes;
  constexpr int kNeeded = kChunks - kChunks / 12;  // chunks that each row needs, by the constraints on `chunks`
  constexpr int kLeastWidth = Config::cols ? 0 : (kNeeded - 1) * kThreadsPerRow * kVec;
  using RowSpan = SpanOf<Op, kVec, kRagged, int, kLeastWidth>;
  using Results = ResultRow<Op, kVec, kRagged>;
  constexpr int kEdges = ceil_div<int>(RowSpan::kMaxEdges, kThreadsPerRow);  // per thread
  constexpr int kHeld = kChunks * kVec;
  constexpr bool kHasColumns = Op::kColumns > 0;
  constexpr bool kInRegisters = kHasColumns && Config::early_columns == 1;
  constexpr bool kInShared = kHasColumns && Config::early_columns == 2;
  constexpr bool kLate = kHasColumns && !kInRegisters && !kInShared;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  constexpr int kAhead = kInRegisters ? kChunks : 2;  // vectors whose elements along the columns are in registers
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::num_warps * kWarpSize % Config::rows_per_block == 0, "rows_per_block must divide the threads");
  static_assert(kThreadsPerRow >= 4, "a row needs 4 threads or more");
  static_assert(kHeld <= 64, "more elements a thread than its registers hold");

  const int width = static_cast<int>(Config::cols ? Config::cols : cols);
  const int thread = static_cast<int>(threadIdx.x % u32{kThreadsPerRow});
  const int row_in_block = static_cast<int>(threadIdx.x / u32{kThreadsPerRow});
  const i64 first_row = i64{blockIdx.x} * Config::rows_per_block;
  if (kRagged && !in_step<kVec>(op)) return by_elements<Config>(op, first_row, Config::rows_per_block, rows, width);

  // In a partial last block some threads recompute the last row, but do not write it.
  const bool present = Config::rows_per_block == 1 || first_row + row_in_block < rows;
  const i64 r = present ? first_row + row_in_block : rows - 1;
  const RowSpan span(op.tensors.outputs[0].row(r), width);
  const int column = span.column(thread);  // of the thread's first vector
  const auto vector_of = [&](int chunk) { return chunk * kThreadsPerRow + thread; };
  const auto ahead_of = [](int chunk) { return chunk * kThreadsPerRow * kVec; };
  const auto edge_of = [&](int e) { return e * kThreadsPerRow + thread; };
  // Chunks that each row fills, wherever it starts.
  constexpr int kFull = Config::cols ? (static_cast<int>(Config::cols) - RowSpan::kMaxEdges) / kVec / kThreadsPerRow
                                     : kNeeded - (kRagged ? 2 : 1);
  const auto valid = valid_if<kVec, kHeld>([&](int k) {
    if (k >= kHeld) return edge_of(k - kHeld) < span.edges();
    return k / kVec < kFull || vector_of(k / kVec) < span.vectors();
  });

  // Issue all loads before the first use.
  Packed<T, kVec> loaded[Op::kInputs][kChunks];
  Packed<T, 1> loaded_edges[Op::kInputs][at_least_one(kEdges)];
#pragma unroll
  for (int input = 0; input < Op::kInputs; ++input) {
    const T* const row = op.tensors.inputs[input].row(r);
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      loaded[input][chunk] = pad_of<Op, kVec>(input);
      if (valid(chunk * kVec)) loaded[input][chunk] = load_packed<kVec>(row + column + ahead_of(chunk));
    }
#pragma unroll
    for (int e = 0; e < kEdges; ++e) {
      loaded_edges[input][e] = pad_of<Op, 1>(input);
      if (valid(kHeld + e)) loaded_edges[input][e] = load_packed<1>(row + span.edge_column(edge_of(e)));
    }
  }

  // Load the tensors along the columns: now, to registers or to shared memory, so that their latency overlaps the
  // row's; or late, when they are needed.
  const Results results(op, r, column);
  typename Results::Along along[kAhead];
  const auto load_along = [&](int first) {
#pragma unroll
    for (int chunk = first; chunk < min(first + kAhead, kChunks); ++chunk) {
      if (valid(chunk * kVec)) results.load_along(along[chunk - first], ahead_of(chunk));
    }
  };
  // Threads beyond the row load what its last vector needs: the assembler moves conditional loads of two tensors below
  // the wait for the row. Conditional loads of one tensor it leaves in place; it would move unconditional ones.
  constexpr bool kUnasked = kInRegisters && kRagged && Op::kColumns > 1 && kLeastWidth >= RowSpan::kMaxEdges;
  const auto load_along_unasked = [&] {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const int vector = chunk < kFull ? vector_of(chunk) : min(vector_of(chunk), span.vectors() - 1);
      results.load_along(along[chunk], (vector - thread) * kVec);
    }
  };
  if constexpr (kUnasked) {
    load_along_unasked();
  } else if constexpr (kInRegisters) {
    load_along(0);
  }

  typename Results::AlongElement along_edges[at_least_one(kEdges)];
#pragma unroll
  for (int e = 0; e < kEdges; ++e) {
    if (valid(kHeld + e)) Results::load_along_element(op, along_edges[e], span.edge_column(edge_of(e)));
  }

  // Copy them to shared memory. A thread reads only its own copies, so no barrier follows. The loop stays, even for a
  // single vector: in straight code the assembler moves loads that nothing awaits below the wait for the row.
  using AlongVectors = typename Results::Reader::Vectors;
  const auto kept = [&](int chunk) {
    auto* const behind_partials =
        shared_storage<unsigned char>() + round_up<int>(Config::num_warps * sizeof(Partial), 16);
    return reinterpret_cast<AlongVectors*>(behind_partials) + chunk * Op::kColumns * kThreads + threadIdx.x;
  };
  if constexpr (kInShared) {
    constexpr bool kFirstIsFull = !Config::cols && kFull > 0;  // no gain if the width is constant
#pragma unroll 1
    for (int chunk = 0, i = ptx::opaque(thread); (kFirstIsFull && chunk == 0) || i < span.vectors();
         ++chunk, i += kThreadsPerRow) {
      results.copy_along(kept(chunk), kThreads, ahead_of(chunk));
    }
    ptx::cp_async_commit();
  }

  // Compute the values, and the partial of the lanes that share the row.
  float values[kHeld + kEdges];
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) values_of(op, loaded, chunk, values, chunk * kVec);
#pragma unroll
  for (int e = 0; e < kEdges; ++e) values_of(op, loaded_edges, e, values, kHeld + e);
  const int first_lane = thread / kLanes * kLanes;
  const auto lanes_below = [&](int end, int first) { return min(max(end - first - first_lane, 0), kLanes); };
  int count = 0;
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) count += kVec * lanes_below(span.vectors(), chunk * kThreadsPerRow);
#pragma unroll
  for (int e = 0; e < kEdges; ++e) count += lanes_below(span.edges(), e * kThreadsPerRow);
  const Partial own = Statistics::template of_registers<kLanes>(values, valid, count);

  // Merge the row's partial.
  Partial* const slots = shared_storage<Partial>() + row_in_block * kWarpsPerRow;
  const Partial whole = merge_warps<Statistics, kWarpsPerRow>(own, slots, thread / kWarpSize);
  if (!present) return;
  const auto scale = op.template scale<true>(own, whole, width);

  // Store the results: first the edges, to free their registers, then the vectors, a few at a time. If registers
  // suffice, load the vectors' elements along the columns before the edges.
  constexpr bool kUnderWay = kLate && kChunks * Op::kColumns <= kAhead;
  if constexpr (kUnderWay) load_along(0);
#pragma unroll
  for (int e = 0; e < kEdges; ++e) {
    if (!valid(kHeld + e)) continue;
    Results::template store_element<true>(op, scale, values[kHeld + e], along_edges[e], r,
                                          span.edge_column(edge_of(e)));
  }
  if constexpr (kInShared) ptx::cp_async_wait<0>();
#pragma unroll
  for (int first = 0; first < kChunks; first += kAhead) {
    if constexpr (kLate && !kUnderWay) load_along(first);
#pragma unroll
    for (int chunk = first; chunk < min(first + kAhead, kChunks); ++chunk) {
      if (!valid(chunk * kVec)) continue;
      if constexpr (kInShared) Results::copied_along(along[chunk - first], kept(chunk), kThreads);
      float vector[kVec];
#pragma unroll
      for (int j = 0; j < kVec; ++j) vector[j] = values[chunk * kVec + j];
      results.template store_vector<true>(op, scale, vector, along[chunk - first], ahead_of(chunk));
    }
  }
}

}  // namespace tilewright::row
