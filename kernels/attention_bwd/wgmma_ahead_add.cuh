// SPDX-License-Identifier: Apache-2.0
#pragma once

// The thread that adds a warpgroup's share of dq to its sums, step after step.

#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/global_reduce.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ring.cuh"
#include "wgmma_ahead_geometry.cuh"

namespace tilewright::attention {

// As add_all(), for one share. For the same bits at each launch, both shares of a block count in the tile's counter: a
// turn has come once all shares of the blocks before have arrived.
template <class Config>
__device__ __forceinline__ void add_shares(typename BackwardTiles<Config>::Storage& storage, float* sums, u32* turns,
                                           const BackwardProblem& problem, int warpgroup) {
  using G = BackwardTiles<Config>;
  Ring<G::kKeyStages> keys;
  u32 parity = 0;
  const float* const share = storage.dq[warpgroup];
  ptx::grid_dependency_wait();
  for (u32 index = first_piece<G>(); G::kTakes || index < problem.pieces; index = next_piece<G>(index)) {
    if constexpr (G::kTakes) {
      ptx::mbarrier_wait(&storage.full_k[keys.stage], keys.parity);
      index = storage.pieces[keys.stage];
      if (index == G::kNone) break;
      ptx::mbarrier_arrive(&storage.empty_keys[keys.stage]);
      keys.advance();
    }
    const BackwardWork work = make_backward_work<Config>(problem, index);
    for (i32 step = 0; step < work.steps(); ++step, parity ^= 1) {
      i64 tile = tile_of<G>(problem, work, step);
      bool is_first = false;
      u32 before = 0;
      if constexpr (G::kStores) {
        const Turn turn = turn_of<Config>(problem, work, work.template block<G>(step));
        before = static_cast<u32>(turn.before);
        is_first = before == 0;
        if (turn.is_second) tile += i64{problem.batches} * problem.heads * problem.query_blocks;
      } else if constexpr (G::kOrdered) {
        before = adders_before<Config>(problem, work, work.template block<G>(step));
      }
      float* const to = sums + tile * G::kTileDq + warpgroup * G::kShareDq;
      ptx::mbarrier_wait(&storage.full_dq[warpgroup], parity);
      if constexpr (G::kOrdered) {
        while (before > 0 && ptx::load_acquire(turns + tile) < before * G::kConsumers) {
        }
        ptx::fence_global_to_async();
      }
      if (is_first) {
        ptx::bulk_store(to, share, G::kShareDq * sizeof(float));
      } else {
        ptx::bulk_reduce_add(to, share, G::kShareDq * sizeof(float));
      }
      ptx::bulk_commit();
      ptx::bulk_wait_read<0>();
      ptx::mbarrier_arrive(&storage.empty_dq[warpgroup]);
      if constexpr (G::kOrdered) {
        ptx::bulk_wait<0>();
        ptx::add_release(turns + tile, 1);
      }
    }
  }
  ptx::bulk_wait<0>();
}

}  // namespace tilewright::attention
