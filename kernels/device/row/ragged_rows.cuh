// SPDX-License-Identifier: Apache-2.0
#pragma once

// Like ring_rows.cuh, for dense rows that are not whole vectors. A group of threads takes rows that start equally far
// from a vector (each kVec-th of an odd width) and keeps its columns: its vectors are located once, and the weights
// there are read once, an element at a time.
//
//   an odd width, vectors of 8, 2 groups of threads a block, 4 blocks
//   row         0   1   2   3   4   5   6   7   8   9  10  11  …
//   block       0   0   1   1   2   2   3   3   0   0   1   1
//   group       0   1   0   1   0   1   0   1   0   1   0   1
//
//   thread t of a row     vectors t, t + n, t + 2 n, … with n threads in all blocks of the row; `chunks` of them
//   edges (span.cuh)      one per thread of the row's first block, loaded to registers a row ahead
//   the first elements    two, near whose mean the shift of centred sums is, loaded by all threads a row ahead
//
// Config: num_warps, rows_per_block, vec (16 bytes), chunks, stages, blocks, early (as in ring_rows.cuh); static_dims
// with cols; cluster. The number of blocks makes a group's next row start like its last, or gives each group one row.
// Shared memory: the exchange of warps and blocks, rounded up to 128 bytes, then the ring and the totals of LongSums;
// after the last row, the sums of rows_per_block groups. The op is that of ring_rows.cuh, its tensors at aligned
// addresses. sm_80 and later, clusters sm_90.

#include "device/ptx/store_whole.cuh"
#include "device/row/ring_rows.cuh"
#include "device/row/span.cuh"

namespace tilewright::row {

template <class Config, class Op>
class RaggedRows {
  using T = typename Op::T;
  enum : int {
    kVec = Config::vec,
    kChunks = Config::chunks,
    kStages = Config::stages,
    kRows = Config::rows_per_block,
    kCluster = Config::cluster,
    kThreads = Config::num_warps * kWarpSize,
    kThreadsPerRow = kThreads / kRows,
    kLanes = kThreadsPerRow < kWarpSize ? kThreadsPerRow : kWarpSize,
    kWarpsPerRow = kThreadsPerRow / kLanes,
  };
  using RowSums = Sums<Op::kValues>;
  using Partial = typename RowSums::Partial;
  using Talk = RowTalk<RowSums, Config::num_warps, (kWarpsPerRow == 1 ? Config::num_warps : static_cast<int>(kRows)),
                       kLanes, kCluster>;
  using RowSpan = Span<kVec, true, int>;
  using Edges = T[Op::kInputs];
  using Held = Packed<T, kVec>[Op::kInputs][kChunks];
  enum : int { kHeader = round_up<int>(static_cast<int>(sizeof(typename Talk::Storage)), 128) };
  enum : int { kRing = kStages * Op::kInputs * kChunks * kThreads * 16 };
  using Totals = LongSums<Op::kLongSums, kChunks, kVec, kThreads>;
  enum : bool { kHasTotals = totals_fit(Config::blocks, kHeader, kRing, Totals::kBytes) };
  static_assert(kVec * sizeof(T) == 16, "asynchronous copies move whole vectors of 16 bytes");
  static_assert(kThreads % kRows == 0 && RowSpan::kMaxEdges <= kThreadsPerRow, "a thread has one edge");
  static_assert(kCluster == 1 || kRows == 1, "a cluster has one row at a time");

 public:
  __device__ __forceinline__ RaggedRows(const Op& op, const ColumnPartials& partials, i64 rows, i64 cols)
      : op_(op),
        partials_(partials),
        rows_(rows),
        width_(static_cast<int>(Config::cols ? Config::cols : cols)),
        talk_(*shared_storage<typename Talk::Storage>()),
        thread_(static_cast<int>(threadIdx.x) % kThreadsPerRow),
        part_(blockIdx.x / u32{kCluster}),
        parts_(gridDim.x / u32{kCluster}),
        begin_(part_ * kRows + static_cast<int>(threadIdx.x) / kThreadsPerRow),
        step_(parts_ * kRows),
        totals_(shared_storage<u8>() + kHeader + kRing, kHasTotals ? rows : 0, step_) {
    const int rank = kCluster > 1 ? static_cast<int>(ptx::cluster_rank()) : 0;
    const RowSpan span(op.tensors.outputs[0].row(begin_), width_);
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const int i = (chunk * kCluster + rank) * kThreadsPerRow + thread_;
      has_[chunk] = chunk + 1 < kChunks || i < span.vectors();  // as in ring_rows.cuh
      columns_[chunk] = span.column(i);
    }
    has_edge_ = rank == 0 && thread_ < span.edges();
    edge_column_ = has_edge_ ? span.edge_column(thread_) : 0;
  }

  __device__ __forceinline__ void run() {
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) fetch(begin_ + stage * step_, stage);
    fetch_edges(begin_);
    if constexpr (Config::early != 0) let_column_sums_start();
    load_weights();

    int stage = 0;
    i64 turn = 0;
    // All groups of a block run as long as the first, whose barriers they share.
    for (i64 first = part_ * kRows; first < rows_; first += step_, ++turn) {
      const i64 r = begin_ + turn * step_;
      ptx::cp_async_wait<kStages - 1>();
      float edges[Op::kInputs];
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) edges[input] = to_float(coming_edges_[input]);
      const float shift = Op::kCentred ? shift_near(pack(coming_firsts_)) : 0.0f;
      if (Op::kCentred && !has_edge_) edges[0] = shift;
      Held held;
      take(stage, shift, held);
      fetch(r + kStages * step_, stage);
      fetch_edges(r + step_);
      if (++stage == kStages) stage = 0;
      talk_.send(sums_of(held, edges, shift), turn);
      write(r, held, edges, op_.scale(talk_.receive(turn).values, shift, width_, r < rows_));
      if (kHasTotals && totals_.are_due(turn)) keep_sums(turn);
    }
    if constexpr (Config::early == 0) let_column_sums_start();
    ptx::cp_async_wait<0>();
    if constexpr (kHasTotals) take_sums();
    leave_sums();
  }

 private:
  __device__ __forceinline__ Packed<T, kVec>* slot_of(int stage, int input, int chunk) const {
    return reinterpret_cast<Packed<T, kVec>*>(shared_storage<u8>() + kHeader) + static_cast<int>(threadIdx.x) +
           stage * (Op::kInputs * kChunks * kThreads) + (input * kChunks + chunk) * kThreads;
  }

  // Starts the copies of row `r` into a stage that this thread has read. What does not exist is zeros: a row behind the
  // last one may start elsewhere in a vector.
  __device__ __forceinline__ void fetch(i64 r, int stage) const {
    const bool there = r < rows_;
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
      const T* const row = op_.tensors.inputs[input].row(there ? r : begin_);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        copy_or_zero(slot_of(stage, input, chunk), row + columns_[chunk], there && has_[chunk]);
      }
    }
    ptx::cp_async_commit();
  }
  // Loads the edge of row `r`. An absent edge adds nothing: it will be the shift, with a gradient of 0.
  __device__ __forceinline__ void fetch_edges(i64 r) {
    const bool there = r < rows_;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      coming_firsts_[i] = from_float<T>(0.0f);
      if (Op::kCentred && there) coming_firsts_[i] = op_.tensors.inputs[0].row(r)[i];
    }
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
      coming_edges_[input] = from_float<T>(0.0f);
      if (there && has_edge_) coming_edges_[input] = op_.tensors.inputs[input].row(r)[edge_column_];
    }
  }

  __device__ __forceinline__ void load_weights() {
    const T* const weights = op_.tensors.columns[0];
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      Vector<T, kVec> own;
#pragma unroll
      for (int j = 0; j < kVec; ++j) own[j] = has_[chunk] ? weights[columns_[chunk] + j] : from_float<T>(0.0f);
      weights_[chunk] = pack(own);
    }
    edge_weight_ = has_edge_ ? to_float(weights[edge_column_]) : 0.0f;
  }

  // Elements behind a row are its shift, which adds nothing.
  __device__ __forceinline__ void take(int stage, float shift, Held& held) const {
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        held[input][chunk] = *slot_of(stage, input, chunk);
        if (input == 0 && !has_[chunk]) held[input][chunk] = all_are<T, kVec>(shift);
      }
    }
  }
  __device__ __forceinline__ void widen(const Held& held, int chunk, float (&in)[Op::kInputs][kVec],
                                        float (&weights)[kVec]) const {
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) to_float(held[input][chunk], in[input]);
    to_float(weights_[chunk], weights);
  }

  // The thread's sums of its row.
  __device__ __forceinline__ Partial sums_of(const Held& held, const float (&edges)[Op::kInputs], float shift) {
    if constexpr (sizeof(T) == 2) keep_narrow(weights_);
    Partial mine{};
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      float in[Op::kInputs][kVec], weights[kVec];
      widen(held, chunk, in, weights);
#pragma unroll
      for (int j = 0; j < kVec; ++j) {
        float element[Op::kInputs];
#pragma unroll
        for (int input = 0; input < Op::kInputs; ++input) element[input] = in[input][j];
        op_.add(element, weights[j], shift, mine.values);
      }
    }
    op_.add(edges, edge_weight_, shift, mine.values);
    return mine;
  }

  template <class Scale>
  __device__ __forceinline__ void write(i64 r, Held& held, const float (&edges)[Op::kInputs], const Scale& scale) {
    if constexpr (sizeof(T) == 2) {
      keep_narrow(weights_);
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) keep_narrow(held[input]);
    }
    T* const out = op_.tensors.outputs[0].row(r);
    float added[Op::kSums];
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      float in[Op::kInputs][kVec], weights[kVec], result[kVec];
      widen(held, chunk, in, weights);
#pragma unroll
      for (int j = 0; j < kVec; ++j) {
        float element[Op::kInputs];
#pragma unroll
        for (int input = 0; input < Op::kInputs; ++input) element[input] = in[input][j];
        result[j] = op_.result(element, weights[j], scale, added);
#pragma unroll
        for (int s = 0; s < Op::kSums; ++s) sums_[s][chunk][j] += added[s];
      }
      if (r < rows_ && has_[chunk]) {
        ptx::store_whole(reinterpret_cast<Word<16>*>(out + columns_[chunk]), pack(from_float<T>(result)).words[0]);
      }
    }
    const float result = op_.result(edges, edge_weight_, scale, added);
#pragma unroll
    for (int s = 0; s < Op::kSums; ++s) edge_sums_[s] += added[s];
    if (r < rows_ && has_edge_) out[edge_column_] = from_float<T>(result);
  }

  // The edges' totals are in registers.
  __device__ __forceinline__ void keep_sums(i64 turn) {
    totals_.keep(turn, sums_);
#pragma unroll
    for (int s = 0; s < Op::kLongSums; ++s) {
      edge_totals_[s] += edge_sums_[s];
      edge_sums_[s] = 0.0f;
    }
  }
  __device__ __forceinline__ void take_sums() {
    totals_.take(sums_);
#pragma unroll
    for (int s = 0; s < Op::kLongSums; ++s) edge_sums_[s] += edge_totals_[s];
  }

  // Writes the block's sums over rows: its groups' sums, added in a fixed order.
  __device__ __forceinline__ void leave_sums() {
    if (threadIdx.x == 0 && blockIdx.x == 0) *partials_.parts = parts_;
    if constexpr (kRows == 1) {
      static_assert(kStages * Op::kInputs * sizeof(T) >= Op::kSums * 4, "the ring holds the sums");
      const auto place = [&](int s, int chunk) { return partials_.row(s, part_, parts_) + columns_[chunk]; };
      __syncthreads();
      store_by_warps<false>(sums_, has_, reinterpret_cast<float*>(shared_storage<u8>() + kHeader), place);
#pragma unroll
      for (int s = 0; s < Op::kSums; ++s) {
        if (has_edge_) partials_.row(s, part_, parts_)[edge_column_] = edge_sums_[s];
      }
    } else {
      add_groups();
    }
  }
  __device__ __forceinline__ void add_groups() {
    auto* const all = shared_storage<float>();
    float* const own = all + static_cast<int>(threadIdx.x) / kThreadsPerRow * width_;
#pragma unroll
    for (int s = 0; s < Op::kSums; ++s) {
      float* const out = partials_.row(s, part_, parts_);
      __syncthreads();
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
#pragma unroll
        for (int j = 0; j < kVec; ++j) {
          if (has_[chunk]) own[columns_[chunk] + j] = sums_[s][chunk][j];
        }
      }
      if (has_edge_) own[edge_column_] = edge_sums_[s];
      __syncthreads();
      for (int c = static_cast<int>(threadIdx.x); c < width_; c += kThreads) {
        out[c] = sum_by_fours<kRows>([&](int g) { return all[g * width_ + c]; });
      }
    }
  }

  const Op& op_;
  const ColumnPartials& partials_;
  i64 rows_;
  int width_;
  Talk talk_;
  int thread_;
  i64 part_, parts_, begin_, step_;
  Totals totals_;
  bool has_[kChunks], has_edge_;
  int columns_[kChunks], edge_column_;
  Packed<T, kVec> weights_[kChunks];
  float edge_weight_;
  Edges coming_edges_;
  Vector<T, 2> coming_firsts_;
  float sums_[Op::kSums][kChunks][kVec] = {}, edge_sums_[Op::kSums] = {}, edge_totals_[Op::kLongSums] = {};
};

template <class Config, class Op>
__device__ __forceinline__ void ragged_rows(const Op& op, const ColumnPartials& partials, i64 rows, i64 cols) {
  RaggedRows<Config, Op>(op, partials, rows, cols).run();
}

}  // namespace tilewright::row
