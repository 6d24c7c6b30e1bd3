// SPDX-License-Identifier: Apache-2.0
#pragma once

// `cluster`, a third skeleton for the ops of weighed.cuh: the blocks of a cluster share a row, and each thread holds
// its part in registers as it was loaded, so rows that one block cannot hold are read once too. weighed_cluster.toml
// beside it has the space. sm_90 and later.

#include "device/ptx/fence.cuh"
#include "device/row/exchange.cuh"
#include "device/row/weighed.cuh"

namespace tilewright::row {

// Config: num_warps, vec, chunks, cluster; static_dims with cols. Thread t of the cluster holds the row's vectors t, t
// + threads, … (`chunks` of them). Rows are whole vectors at vector-aligned addresses. Shared memory: an exchange.
template <class Config, class Op>
__device__ __forceinline__ void weighed_cluster(const Op& op, i64 cols) {
  constexpr int kVec = Config::vec, kCluster = Config::cluster, kChunks = Config::chunks;
  constexpr int kThreads = Config::num_warps * kWarpSize * kCluster;
  using RowExchange = Exchange<TermSum, Config::num_warps, kCluster, 1>;
  static_assert(kVec * sizeof(typename Op::T) <= 16, "a vector has at most 16 bytes");
  static_assert(Op::kInputs * kChunks * kVec * sizeof(typename Op::T) <= 256, "more than a thread's registers hold");

  const i64 width = Config::cols ? Config::cols : cols;
  const i64 r = blockIdx.x / u32{kCluster};
  const int thread = static_cast<int>(ptx::cluster_rank()) * Config::num_warps * kWarpSize + threadIdx.x;
  RowExchange exchange(*shared_storage<typename RowExchange::Storage>());
  if (threadIdx.x == 0) {
    exchange.init();
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  exchange.prepare();

  // Issue all loads before the first use.
  const auto column_of = [&](int chunk) { return (i64{chunk} * kThreads + thread) * kVec; };
  InputVectors<Op, kVec> loaded[kChunks];
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    no_inputs<Op, kVec>(loaded[chunk]);
    if (column_of(chunk) < width) load_inputs<Op, kVec>(op, r, column_of(chunk), loaded[chunk]);
  }

  // Sum the row's terms.
  float sums[2] = {};
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) add_terms<Op, kVec>(op, loaded[chunk], sums);
  exchange.send(TermSum::over_lanes<kWarpSize>({sums[0] + sums[1]}), 0);
  const auto scale = op.scale(exchange.receive(0).sum, width);

  // Store the results.
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    if (column_of(chunk) < width) store_results<Op, kVec>(op, loaded[chunk], scale, r, column_of(chunk));
  }
}

}  // namespace tilewright::row
