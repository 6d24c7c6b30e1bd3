// SPDX-License-Identifier: Apache-2.0
#pragma once

// The warp that copies queries and keys where pieces differ in length: as in wgmma_load.cuh, but a block takes its next
// piece when it waits for the place of this one's last keys. Taken earlier, short pieces at the end wait for blocks that
// still have long ones, while others have none.

#include "device/ptx/mbarrier.cuh"
#include "device/ptx/tensor_copy4.cuh"
#include "device/ring.cuh"
#include "wgmma_load.cuh"

namespace tilewright::attention {

template <class Config>
__device__ __forceinline__ void load_queries_and_keys_late(typename Geometry<Config>::Storage& storage,
                                                           const TensorMap& map_q, const TensorMap& map_k,
                                                           const Problem& problem, const Counters& counters) {
  using G = Geometry<Config>;
  const Order<Config> order(problem);
  const i32 group = problem.heads / problem.key_heads;
  Ring<G::kQueryStages> queries;
  Ring<G::kStages> keys;
  u32 index = blockIdx.x;
  for (u32 piece = 0;; ++piece, queries.advance()) {
    u64* const full_q = &storage.full_q[queries.stage];
    ptx::mbarrier_wait(&storage.empty_q[queries.stage], queries.parity ^ 1);
    if (index >= order.pieces) {
      storage.work[piece % G::kWorks].is_end = 1;
      ptx::mbarrier_arrive(full_q);
      break;
    }
    const Work work = order.work(problem, index);
    storage.work[piece % G::kWorks] = work;
    u32 next = 0;
    ptx::mbarrier_arrive_expect_tx(full_q, G::kBytesQ);
#pragma unroll
    for (int part = 0; part < G::kParts; ++part) {
      ptx::tensor_load(storage.q[queries.stage] + part * G::kBlockM * G::kRowBytes, map_q,
                       {part * G::kRowElements, work.head, work.row / G::kPack, work.batch}, full_q);
    }
    const i32 key_head = work.head / group;
    for (i32 block = work.last_block; block >= work.first_block; --block, keys.advance()) {
      if (block == work.first_block) next = counters.take();
      u64* const full_k = &storage.full_k[keys.stage];
      ptx::mbarrier_wait(&storage.empty_k[keys.stage], keys.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full_k, G::kBytesK);
#pragma unroll
      for (int part = 0; part < G::kParts; ++part) {
        ptx::tensor_load(storage.k[keys.stage] + part * G::kBlockN * G::kRowBytes, map_k,
                         {part * G::kRowElements, key_head, block * G::kBlockN, work.batch}, full_k);
      }
    }
    index = next;
  }
  counters.end();
}

}  // namespace tilewright::attention
