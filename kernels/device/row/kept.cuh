// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of a row op whose threads keep their columns: a cluster takes one row after the other, and what belongs to a
// thread's columns, such as weights, stays in its registers. Rows are on their way to shared memory while others are worked
// on; a thread copies what it will read itself, so that no barrier is needed for that.
//
//   stage 0   input 0: v0 v1 v2 …   input 1: v0 v1 v2 …        a ring of `stages` rows; vi is thread i's vector
//   stage 1   input 0: v0 v1 v2 …   input 1: v0 v1 v2 …
//
// Of ragged rows a cluster takes such as start equally far from a vector: their vectors lie at the same columns, and the
// tensors along the columns are read and put together once. kept.toml makes a grid of a multiple of `vec` clusters.
//
//   Config   cluster, num_warps, vec (16 bytes), chunks, ragged, stages, ahead, blocks; static_dims with cols
//   chunks   as many as hold a row, no more: all but the last are full, and of a ragged row all but the last two (kept.toml)
//   ahead    1: a row's statistics are sent before those of the last row are awaited, with both rows in registers
//   shared   | what warps and blocks tell each other … 128 bytes | ring |
//
// An output may be an input: a thread writes only elements that it alone has read. Tensors whose rows are not aligned alike
// go the slow way (by_elements.cuh). sm_90 and later.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/store_whole.cuh"
#include "device/row/by_elements.cuh"
#include "device/row/exchange.cuh"
#include "device/row/results.cuh"
#include "device/row/span.cuh"
#include "device/row/statistics.cuh"
#include "device/row/tensors.cuh"
#include "device/shared.cuh"

namespace tilewright::row {

template <class Config, class Op>
class Kept {
  using T = typename Op::T;
  using Statistics = typename Op::Statistics;
  using Partial = typename Statistics::Partial;
  enum : int {
    kVec = Config::vec,
    kChunks = Config::chunks,
    kStages = Config::stages,
    kCluster = Config::cluster,
    kThreads = Config::num_warps * kWarpSize,
    kHeld = kChunks * kVec,
    kStride = kCluster * kThreads * kVec,  // from a thread's vector to its next one
    kSure = kChunks - 1 - Config::ragged,  // chunks that are full, wherever a row starts
  };
  enum : bool { kRagged = Config::ragged != 0, kAhead = Config::ahead != 0 };
  using RowSpan = SpanOf<Op, kVec, kRagged, int>;
  using Reader = RowReader<T, kVec, kRagged>;
  enum : int {
    kEdges = ceil_div<int>(RowSpan::kMaxEdges, kThreads),  // a thread's
    kValues = kHeld + kEdges,
  };
  enum : bool { kFull = !kRagged && Config::cols == kChunks * kStride };
  using Talk = Exchange<Statistics, Config::num_warps, kCluster, 4>;
  enum : int { kHeader = round_up<int>(static_cast<int>(sizeof(typename Talk::Storage)), 128) };
  static_assert(kCluster > 1, "a row is a cluster's");
  static_assert(kVec * sizeof(T) == 16, "asynchronous copies move whole vectors of 16 bytes");

  using Edge = Packed<T, 1>[Op::kInputs][at_least_one(kEdges)];

 public:
  __device__ __forceinline__ Kept(const Op& op, i64 rows, i64 cols)
      : op_(op),
        rows_(rows),
        width_(static_cast<int>(Config::cols ? Config::cols : cols)),
        thread_(static_cast<int>(threadIdx.x)),
        rank_(static_cast<int>(ptx::cluster_rank())),
        step_(gridDim.x / u32{kCluster}),
        begin_(blockIdx.x / u32{kCluster}),
        talk_(*shared_storage<typename Talk::Storage>()) {}

  __device__ __forceinline__ void run() {
    if (kRagged && !in_step<kVec>(op_)) {
      for (i64 r = begin_; r < rows_ && rank_ == 0; r += step_) by_elements<Config>(op_, r, 1, rows_, width_);
      return;
    }
    span_ = RowSpan(op_.tensors.outputs[0].row(begin_), width_);
    column_ = span_.column(rank_ * kThreads + thread_);
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      has_[chunk] = kFull || chunk < kSure || first_of(chunk) + thread_ < span_.vectors();
    }
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) fetch(begin_ + stage * step_, stage);
    Edge edges;
    load_edges(begin_, edges);
    if (thread_ == 0) {
      talk_.init();
      ptx::fence_mbarrier_init();
    }
    __syncthreads();
    talk_.prepare();
    load_along();
    count();
    if constexpr (kAhead) {
      run_ahead(edges);
    } else {
      run_in_turn(edges);
    }
  }

 private:
  // The block's first vector of a chunk.
  __device__ __forceinline__ int first_of(int chunk) const { return (chunk * kCluster + rank_) * kThreads; }
  __device__ __forceinline__ bool has(int chunk) const { return has_[chunk]; }
  __device__ __forceinline__ bool has_edge(int e) const { return rank_ == 0 && e * kThreads + thread_ < span_.edges(); }
  __device__ __forceinline__ int edge_column(int e) const { return span_.edge_column(e * kThreads + thread_); }
  __device__ __forceinline__ Packed<T, kVec>* slot_of(int stage, int input, int chunk) const {
    return reinterpret_cast<Packed<T, kVec>*>(shared_storage<u8>() + kHeader) +
           ((stage * Op::kInputs + input) * kChunks + chunk) * kThreads + thread_;
  }

  // Of row `r`, if there is one. This thread has read what the stage had.
  __device__ __forceinline__ void fetch(i64 r, int stage) const {
    if (r < rows_) {
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) {
        const T* const from = op_.tensors.inputs[input].row(r) + column_;
#pragma unroll
        for (int chunk = 0; chunk < kChunks; ++chunk) {
          if (has(chunk)) ptx::cp_async<16>(slot_of(stage, input, chunk), from + chunk * kStride);
        }
      }
    }
    ptx::cp_async_commit();
  }

  __device__ __forceinline__ void load_edges(i64 r, Edge& edges) const {
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
#pragma unroll
      for (int e = 0; e < kEdges; ++e) {
        edges[input][e] = pad_of<Op, 1>(input);
        if (r < rows_ && has_edge(e)) {
          edges[input][e] = load_packed<1>(op_.tensors.inputs[input].row(r) + edge_column(e));
        }
      }
    }
  }

  __device__ __forceinline__ void load_along() {
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) {
      const T* const from = op_.tensors.columns[c];
      const Reader reader(from + column_);
      typename Reader::Vectors loaded[kChunks];
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (has(chunk)) loaded[chunk] = reader.load(chunk * kStride);
      }
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) along_[c][chunk] = reader.take(loaded[chunk]);
#pragma unroll
      for (int e = 0; e < kEdges; ++e) {
        along_edges_[c][e] = has_edge(e) ? to_float(from[edge_column(e)]) : 0.0f;
      }
    }
  }

  // How many elements of a row the warp has.
  __device__ __forceinline__ void count() {
    const int first_lane = thread_ / kWarpSize * kWarpSize;
    const auto lanes_below = [&](int end, int first) { return min(max(end - first - first_lane, 0), kWarpSize); };
    count_ = 0;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) count_ += kVec * lanes_below(span_.vectors(), first_of(chunk));
#pragma unroll
    for (int e = 0; e < kEdges; ++e) count_ += rank_ == 0 ? lanes_below(span_.edges(), e * kThreads) : 0;
  }

  // The values of the row in that stage, and what the warp knows of it.
  __device__ __forceinline__ Partial take(int stage, const Edge& edges, float (&values)[kValues]) const {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      Packed<T, kVec> loaded[Op::kInputs][1];
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) {
        loaded[input][0] = pad_of<Op, kVec>(input);
        if (has(chunk)) loaded[input][0] = *slot_of(stage, input, chunk);
      }
      values_of(op_, loaded, 0, values, chunk * kVec);
    }
#pragma unroll
    for (int e = 0; e < kEdges; ++e) values_of(op_, edges, e, values, kHeld + e);
    const auto valid = valid_if<kVec, kHeld>([&](int k) { return k < kHeld ? has(k / kVec) : has_edge(k - kHeld); });
    return Statistics::template of_registers<kWarpSize>(values, valid, count_);
  }

  __device__ __forceinline__ void write(i64 r, const float (&values)[kValues], const Partial& own,
                                        const Partial& whole) const {
    const auto scale = op_.template scale<true>(own, whole, width_);
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      if (!has(chunk)) continue;
      float vector[kVec], along[at_least_one(Op::kColumns)][kVec], out[Op::kOutputs][kVec];
#pragma unroll
      for (int j = 0; j < kVec; ++j) vector[j] = values[chunk * kVec + j];
#pragma unroll
      for (int c = 0; c < Op::kColumns; ++c) to_float(along_[c][chunk], along[c]);
      op_.template results<true>(vector, scale, along, out);
#pragma unroll
      for (int o = 0; o < Op::kOutputs; ++o) {
        store_whole(op_.tensors.outputs[o].row(r) + column_ + chunk * kStride, from_float<T>(out[o]));
      }
    }
#pragma unroll
    for (int e = 0; e < kEdges; ++e) {
      if (!has_edge(e)) continue;
      const float value[1] = {values[kHeld + e]};
      float along[at_least_one(Op::kColumns)][1], out[Op::kOutputs][1];
#pragma unroll
      for (int c = 0; c < Op::kColumns; ++c) along[c][0] = along_edges_[c][e];
      op_.template results<true>(value, scale, along, out);
#pragma unroll
      for (int o = 0; o < Op::kOutputs; ++o) op_.tensors.outputs[o].row(r)[edge_column(e)] = from_float<T>(out[o][0]);
    }
  }

  __device__ static __forceinline__ void store_whole(T* address, const Vector<T, kVec>& value) {
    ptx::store_whole(reinterpret_cast<Word<16>*>(address), pack(value).words[0]);
  }

  __device__ __forceinline__ void run_in_turn(Edge& edges) {
    int stage = 0;
    i64 turn = 0;
    for (i64 r = begin_; r < rows_; r += step_, ++turn) {
      ptx::cp_async_wait<kStages - 1>();
      float values[kValues];
      const Partial own = take(stage, edges, values);
      load_edges(r + step_, edges);
      fetch(r + kStages * step_, stage);
      if (++stage == kStages) stage = 0;
      talk_.send(own, turn);
      write(r, values, own, talk_.receive(turn));
    }
  }

  __device__ __forceinline__ void run_ahead(Edge& edges) {
    int stage = 0;
    const auto next = [&](i64 r, i64 turn, float(&values)[kValues]) {
      ptx::cp_async_wait<kStages - 1>();
      const Partial own = take(stage, edges, values);
      load_edges(r + step_, edges);
      fetch(r + kStages * step_, stage);
      if (++stage == kStages) stage = 0;
      talk_.send(own, turn);
      return own;
    };
    if (begin_ >= rows_) return;
    float values[kValues];
    Partial own = next(begin_, 0, values);
    i64 turn = 0;
    for (i64 r = begin_; r < rows_; r += step_, ++turn) {
      float next_values[kValues];
      Partial next_own = Statistics::nothing();
      if (r + step_ < rows_) next_own = next(r + step_, turn + 1, next_values);
      write(r, values, own, talk_.receive(turn));
#pragma unroll
      for (int k = 0; k < kValues; ++k) values[k] = next_values[k];
      own = next_own;
    }
  }

  const Op& op_;
  i64 rows_;
  int width_, thread_, rank_;
  i64 step_, begin_;
  Talk talk_;
  RowSpan span_;
  int column_, count_;
  bool has_[kChunks];
  Packed<T, kVec> along_[at_least_one(Op::kColumns)][kChunks];
  float along_edges_[at_least_one(Op::kColumns)][at_least_one(kEdges)];
};

template <class Config, class Op>
__device__ __forceinline__ void kept(const Op& op, i64 rows, i64 cols) {
  Kept<Config, Op>(op, rows, cols).run();
}

}  // namespace tilewright::row
