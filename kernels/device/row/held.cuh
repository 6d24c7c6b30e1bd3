// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of a row op whose threads hold several rows in registers at once. These rows start equally far from a
// vector, so tensors along the columns, such as weights, are read and realigned once for all of them (own_columns.cuh):
//
//   an odd width, vectors of 8, 2 groups of threads a block, 2 turns
//   row         0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15
//   block       0   0   1   1   2   2   3   3   0   0   1   1   2   2   3   3
//   group       0   1   0   1   0   1   0   1   0   1   0   1   0   1   0   1
//
//   Config   num_warps, threads_per_row, cluster, vec, chunks, ragged, turns, batches, warps_per_sm; static_dims (cols)
//   turns    rows that a thread holds; the next `turns` rows are loaded while these are computed, for `batches` times
//   shared   the exchange of warps and blocks
//
// An output may be an input: a thread writes only elements that it alone has read. Tensors whose rows are aligned
// differently go by elements (by_elements.cuh). sm_80 and later, clusters sm_90.

#include "device/config.cuh"
#include "device/row/by_elements.cuh"
#include "device/row/exchange.cuh"
#include "device/row/own_columns.cuh"
#include "device/row/statistics.cuh"
#include "device/shared.cuh"

namespace tilewright::row {

// Blocks per SM for __launch_bounds__, from the config's warps per SM.
template <class Config>
__device__ constexpr int held_blocks() {
  return Config::warps_per_sm > Config::num_warps ? Config::warps_per_sm / Config::num_warps : 1;
}

template <class Config, class Op>
__device__ __forceinline__ void held(const Op& op, i64 rows, i64 cols) {
  using Statistics = typename Op::Statistics;
  using Partial = typename Statistics::Partial;
  using Columns = OwnColumns<Config, Op, Config::threads_per_row>;
  constexpr int kTurns = Config::turns;
  constexpr int kBatches = Config::batches;
  constexpr int kCluster = Config::cluster;
  constexpr int kThreadsPerRow = Config::threads_per_row;
  constexpr int kGroups = Config::num_warps * kWarpSize / kThreadsPerRow;
  constexpr int kWarpsPerRow = ceil_div<int>(kThreadsPerRow, kWarpSize);
  // Rows from a thread's row to its next, and the blocks whose rows interleave there.
  constexpr int kPhase = Config::ragged && kGroups < Config::vec ? Config::vec : kGroups;
  constexpr u32 kBlocks = kPhase / kGroups;
  static_assert(Config::num_warps * kWarpSize % kThreadsPerRow == 0 && kThreadsPerRow >= 4,
                "a row has 4 threads or more");
  static_assert(kCluster == 1 || (kGroups == 1 && kTurns <= 4), "a cluster has one row at a time, and talks of four");

  const int width = static_cast<int>(Config::cols ? Config::cols : cols);
  const int group = static_cast<int>(threadIdx.x) / kThreadsPerRow;
  const int rank = kCluster > 1 ? static_cast<int>(ptx::cluster_rank()) : 0;
  const u32 number = blockIdx.x / u32{kCluster};
  const i64 first = i64{number / kBlocks} * (kPhase * kTurns * kBatches) + number % kBlocks * kGroups;
  if (Config::ragged && !in_step<Config::vec>(op)) {
#pragma unroll 1
    for (int turn = 0; turn < kTurns * kBatches && rank == 0; ++turn) {
      by_elements<Config>(op, first + turn * kPhase, kGroups, rows, width);
    }
    return;
  }

  const i64 row = first + group;
  // Rows left from `first` on, as far as the block reaches.
  const int of_block = static_cast<int>(min(max(rows - first, i64{0}), i64{kPhase} * kTurns * kBatches + kGroups));
  const auto is_there = [&](int ahead) { return ahead + group < of_block; };
  Columns columns(op, row, width, static_cast<int>(threadIdx.x) % kThreadsPerRow, rank);

  // Issue all loads before the first use.
  typename Columns::Vectors vectors[kTurns];
  typename Columns::Edges edges[kTurns];
  const auto load = [&](int batch) {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int ahead = (batch * kTurns + turn) * kPhase;
      columns.load(row + ahead, is_there(ahead), vectors[turn]);
      columns.load(row + ahead, is_there(ahead), edges[turn]);
    }
  };
  load(0);
  columns.load_along();

  using Talk = Exchange<Statistics, Config::num_warps, kCluster, (kCluster > 1 ? 4 : 1)>;
  Talk talk(*shared_storage<typename Talk::Storage>());
  if constexpr (kCluster > 1) {
    if (threadIdx.x == 0) {
      talk.init();
      ptx::fence_mbarrier_init();
    }
    __syncthreads();
    talk.prepare();
  }
  columns.take_along();

#pragma unroll 1
  for (int batch = 0; batch < kBatches && batch * kTurns * kPhase < of_block; ++batch) {
    float values[kTurns][Columns::kValues];
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      columns.values(vectors[turn], values[turn]);
      columns.values(edges[turn], values[turn]);
    }
    if constexpr (kBatches > 1) load(batch + 1);

    Partial own[kTurns];
    Partial* const slots = shared_storage<Partial>() + batch % 2 * (kTurns * Config::num_warps);
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      own[turn] = columns.partial(values[turn]);
      if constexpr (kCluster > 1) {
        talk.send(own[turn], batch * kTurns + turn);
      } else if constexpr (kWarpsPerRow > 1) {
        if (threadIdx.x % kWarpSize == 0) slots[turn * Config::num_warps + threadIdx.x / kWarpSize] = own[turn];
      }
    }
    if constexpr (kCluster == 1 && kWarpsPerRow > 1) __syncthreads();

#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int ahead = (batch * kTurns + turn) * kPhase;
      Partial whole = own[turn];
      if constexpr (kCluster > 1) {
        whole = talk.receive(batch * kTurns + turn);
      } else if constexpr (kWarpsPerRow > 1) {
        whole = over_slots<Statistics, kWarpsPerRow>(slots + turn * Config::num_warps + group * kWarpsPerRow);
      }
      if (is_there(ahead)) columns.write(row + ahead, values[turn], own[turn], whole);
    }
  }
}

}  // namespace tilewright::row
