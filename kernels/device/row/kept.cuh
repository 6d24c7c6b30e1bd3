// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of a row op whose threads keep their columns (own_columns.cuh). A cluster takes one row after the other;
// tensors along the columns, such as weights, stay in registers. Rows travel to shared memory while others are
// computed. A thread copies what it alone reads: no barrier.
//
//   stage 0   input 0: v0 v1 v2 …   input 1: v0 v1 v2 …        a ring of `stages` rows; vi is thread i's vector
//   stage 1   input 0: v0 v1 v2 …   input 1: v0 v1 v2 …
//
// A cluster's ragged rows start equally far from a vector: kept.toml makes the number of clusters a multiple of `vec`.
//
//   Config   cluster, num_warps, vec (16 bytes), chunks, ragged, stages, ahead, blocks; static_dims with cols
//   ahead    1: a row's statistics are sent before the previous row's are received; both rows are in registers
//   shared   | exchange of the warps, padded to 128 bytes | ring |
//
// An output may be an input: a thread writes only elements that it alone has read. Tensors whose rows are aligned
// differently go by elements (by_elements.cuh). sm_90 and later.

#include "device/config.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/row/by_elements.cuh"
#include "device/row/own_columns.cuh"
#include "device/row/warp_talk.cuh"
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
  };
  using Columns = OwnColumns<Config, Op, kThreads>;
  using Talk = WarpTalk<Statistics, Config::num_warps, kCluster>;
  enum : int {
    kValues = Columns::kValues,
    kHeader = round_up<int>(static_cast<int>(sizeof(typename Talk::Storage)), 128)
  };
  static_assert(kCluster > 1, "a row is a cluster's");
  static_assert(kVec * sizeof(T) == 16, "asynchronous copies move whole vectors of 16 bytes");

 public:
  __device__ __forceinline__ Kept(const Op& op, i64 rows, int width)
      : rows_(rows),
        step_(gridDim.x / u32{kCluster}),
        begin_(blockIdx.x / u32{kCluster}),
        columns_(op, begin_, width, static_cast<int>(threadIdx.x), static_cast<int>(ptx::cluster_rank())),
        talk_(*shared_storage<typename Talk::Storage>()) {}

  __device__ __forceinline__ void run() {
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) fetch(begin_ + stage * step_, stage);
    columns_.load(begin_, begin_ < rows_, edges_);
    columns_.load_along();
    if (threadIdx.x == 0) {
      talk_.init();
      ptx::fence_mbarrier_init();
    }
    __syncthreads();
    talk_.prepare();
    columns_.take_along();
    if constexpr (Config::ahead != 0) {
      run_ahead();
    } else {
      run_in_turn();
    }
  }

 private:
  __device__ __forceinline__ Packed<T, kVec>* slot_of(int stage, int input, int chunk) const {
    return reinterpret_cast<Packed<T, kVec>*>(shared_storage<u8>() + kHeader) +
           ((stage * Op::kInputs + input) * kChunks + chunk) * kThreads + threadIdx.x;
  }

  // Starts the copies of row `r`, if there is one, into a stage that this thread has read.
  __device__ __forceinline__ void fetch(i64 r, int stage) const {
    if (r < rows_) {
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) {
#pragma unroll
        for (int chunk = 0; chunk < kChunks; ++chunk) {
          if (columns_.has(chunk)) ptx::cp_async<16>(slot_of(stage, input, chunk), columns_.vector(input, r, chunk));
        }
      }
    }
    ptx::cp_async_commit();
  }

  // Waits for row `r`, computes its values and sends the warp's partial. Refills the stage as soon as its values are in
  // registers.
  __device__ __forceinline__ Partial take(i64 r, i64 turn, float (&values)[kValues]) {
    ptx::cp_async_wait<kStages - 1>();
    typename Columns::Vectors vectors;
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        vectors[input][chunk] = pad_of<Op, kVec>(input);
        if (columns_.has(chunk)) vectors[input][chunk] = *slot_of(stage_, input, chunk);
      }
    }
    columns_.values(edges_, values);
    fetch(r + kStages * step_, stage_);
    columns_.load(r + step_, r + step_ < rows_, edges_);
    if (++stage_ == kStages) stage_ = 0;
    columns_.values(vectors, values);
    const Partial own = columns_.partial(values);
    talk_.send(own, turn);
    return own;
  }

  __device__ __forceinline__ void run_in_turn() {
    i64 turn = 0;
    for (i64 r = begin_; r < rows_; r += step_, ++turn) {
      float values[kValues];
      const Partial own = take(r, turn, values);
      columns_.write(r, values, own, talk_.receive(turn));
    }
  }

  __device__ __forceinline__ void run_ahead() {
    if (begin_ >= rows_) return;
    float values[kValues];
    Partial own = take(begin_, 0, values);
    i64 turn = 0;
    for (i64 r = begin_; r < rows_; r += step_, ++turn) {
      float next_values[kValues];
      Partial next_own = Statistics::nothing();
      if (r + step_ < rows_) next_own = take(r + step_, turn + 1, next_values);
      columns_.write(r, values, own, talk_.receive(turn));
#pragma unroll
      for (int k = 0; k < kValues; ++k) values[k] = next_values[k];
      own = next_own;
    }
  }

  i64 rows_, step_, begin_;
  Columns columns_;
  Talk talk_;
  int stage_ = 0;
  typename Columns::Edges edges_;
};

template <class Config, class Op>
__device__ __forceinline__ void kept(const Op& op, i64 rows, i64 cols) {
  const int width = static_cast<int>(Config::cols ? Config::cols : cols);
  if (Config::ragged && !in_step<Config::vec>(op)) {
    const i64 step = gridDim.x / u32{Config::cluster};
    for (i64 r = blockIdx.x / u32{Config::cluster}; r < rows && ptx::cluster_rank() == 0; r += step) {
      by_elements<Config>(op, r, 1, rows, width);
    }
    return;
  }
  Kept<Config, Op>(op, rows, width).run();
}

}  // namespace tilewright::row
