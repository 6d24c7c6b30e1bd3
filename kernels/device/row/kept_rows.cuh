// SPDX-License-Identifier: Apache-2.0
#pragma once

// As kept.cuh, with a row in a block, or in a group of a block's threads: for ragged rows that are no cluster's.
// Threads keep their columns (own_columns.cuh), and what belongs to these, such as weights, for all rows of theirs.
// Rows are on their way to shared memory while others are worked on; a thread copies what it will read itself.
//
//   an odd width, vectors of 8, 2 groups of threads a block, 4 blocks
//   row         0   1   2   3   4   5   6   7   8   9  10  11  …
//   block       0   0   1   1   2   2   3   3   0   0   1   1
//   group       0   1   0   1   0   1   0   1   0   1   0   1
//
//   stage 0     input 0: v0 v1 v2 …   input 1: v0 v1 v2 …        a ring of `stages` rows; vi is thread i's vector
//   stage 1     input 0: v0 v1 v2 …   input 1: v0 v1 v2 …
//
//   Config      num_warps, threads_per_row, cluster (1), vec (16 bytes), chunks, ragged (1), stages, blocks;
//               static_dims with cols
//   shared      | what warps tell each other of two rows, a multiple of 128 bytes | ring |
//
// The grid is of as many blocks as make a group's next row start like its last, or has a row for each group. An output
// may be an input: a thread writes only elements that it alone has read. Tensors whose rows are not aligned alike go
// the slow way (by_elements.cuh). sm_80 and later.

#include "device/config.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/row/by_elements.cuh"
#include "device/row/own_columns.cuh"
#include "device/row/statistics.cuh"
#include "device/shared.cuh"

namespace tilewright::row {

template <class Config, class Op>
class KeptRows {
  using T = typename Op::T;
  using Statistics = typename Op::Statistics;
  using Partial = typename Statistics::Partial;
  enum : int {
    kVec = Config::vec,
    kChunks = Config::chunks,
    kStages = Config::stages,
    kThreads = Config::num_warps * kWarpSize,
    kThreadsPerRow = Config::threads_per_row,
    kGroups = kThreads / kThreadsPerRow,
    kWarpsPerRow = ceil_div<int>(kThreadsPerRow, kWarpSize),
    kHeader = round_up<int>(2 * Config::num_warps * static_cast<int>(sizeof(Partial)), 128),
  };
  using Columns = OwnColumns<Config, Op, kThreadsPerRow>;
  static_assert(kVec * sizeof(T) == 16, "asynchronous copies move whole vectors of 16 bytes");
  static_assert(Config::cluster == 1 && Config::ragged == 1, "rows of clusters, and of whole vectors, go other ways");
  static_assert(kThreads % kThreadsPerRow == 0 && kThreadsPerRow >= 4, "a row has 4 threads or more");

 public:
  __device__ __forceinline__ KeptRows(const Op& op, i64 rows, int width)
      : rows_(rows),
        step_(i64{gridDim.x} * kGroups),
        begin_(i64{blockIdx.x} * kGroups),
        group_(static_cast<int>(threadIdx.x) / kThreadsPerRow),
        columns_(op, begin_ + group_, width, static_cast<int>(threadIdx.x) % kThreadsPerRow, 0) {}

  __device__ __forceinline__ void run() {
    const i64 own_begin = begin_ + group_;
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) fetch(own_begin + stage * step_, stage);
    columns_.load(own_begin, own_begin < rows_, edges_);
    columns_.load_along();
    columns_.take_along();

    int stage = 0, parity = 0;
    // All groups of a block go as far as the first, whose barriers are theirs, too.
    for (i64 first = begin_; first < rows_; first += step_, parity ^= 1) {
      const i64 r = first + group_;
      float values[Columns::kValues];
      take(r, stage, values);
      if (++stage == kStages) stage = 0;
      const Partial own = columns_.partial(values);
      Partial whole = own;
      if constexpr (kWarpsPerRow > 1) {
        Partial* const slots = shared_storage<Partial>() + parity * Config::num_warps;
        if (threadIdx.x % kWarpSize == 0) slots[threadIdx.x / kWarpSize] = own;
        __syncthreads();
        whole = over_slots<Statistics, kWarpsPerRow>(slots + group_ * kWarpsPerRow);
      }
      if (r < rows_) columns_.write(r, values, own, whole);
    }
  }

 private:
  __device__ __forceinline__ Packed<T, kVec>* slot_of(int stage, int input, int chunk) const {
    return reinterpret_cast<Packed<T, kVec>*>(shared_storage<u8>() + kHeader) +
           ((stage * Op::kInputs + input) * kChunks + chunk) * kThreads + threadIdx.x;
  }

  // Of row `r`, if there is one. This thread has read what the stage had.
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

  // Awaits row `r` and has its values. The next row for the stage is asked for as soon as it is out of it.
  __device__ __forceinline__ void take(i64 r, int stage, float (&values)[Columns::kValues]) {
    ptx::cp_async_wait<kStages - 1>();
    typename Columns::Vectors vectors;
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        vectors[input][chunk] = pad_of<Op, kVec>(input);
        if (r < rows_ && columns_.has(chunk)) vectors[input][chunk] = *slot_of(stage, input, chunk);
      }
    }
    columns_.values(edges_, values);
    fetch(r + kStages * step_, stage);
    columns_.load(r + step_, r + step_ < rows_, edges_);
    columns_.values(vectors, values);
  }

  i64 rows_, step_, begin_;
  int group_;
  Columns columns_;
  typename Columns::Edges edges_;
};

template <class Config, class Op>
__device__ __forceinline__ void kept_rows(const Op& op, i64 rows, i64 cols) {
  const int width = static_cast<int>(Config::cols ? Config::cols : cols);
  constexpr int kGroups = Config::num_warps * kWarpSize / Config::threads_per_row;
  if (!in_step<Config::vec>(op)) {
    for (i64 r = i64{blockIdx.x} * kGroups; r < rows; r += i64{gridDim.x} * kGroups) {
      by_elements<Config>(op, r, kGroups, rows, width);
    }
    return;
  }
  KeptRows<Config, Op>(op, rows, width).run();
}

}  // namespace tilewright::row
