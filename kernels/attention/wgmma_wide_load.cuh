// SPDX-License-Identifier: Apache-2.0
#pragma once

// The warp that copies queries and keys, where queries have one stage: as in wgmma_load.cuh, but a piece's first keys do
// not wait for that stage, and L2 is asked for its queries while the piece before is copied.

#include "device/ptx/mbarrier.cuh"
#include "device/ptx/tensor_copy4.cuh"
#include "device/ptx/tensor_prefetch.cuh"
#include "device/ring.cuh"
#include "wgmma_load.cuh"

namespace tilewright::attention {

template <class Config>
__device__ __forceinline__ void load_wide_queries_and_keys(typename Geometry<Config>::Storage& storage,
                                                           const TensorMap& map_q, const TensorMap& map_k,
                                                           const Problem& problem, const Counters& counters) {
  using G = Geometry<Config>;
  static_assert(G::kQueryStages == 1, "one stage of queries");
  const Order<Config> order(problem);
  const i32 group = problem.heads / problem.key_heads;
  Ring<G::kStages> keys;
  u32 index = blockIdx.x;
  for (u32 piece = 0;; ++piece) {
    const auto wait_for_place = [&] { ptx::mbarrier_wait(storage.empty_q, (piece & 1) ^ 1); };
    if (index >= order.pieces) {
      wait_for_place();
      storage.work[piece % G::kWorks].is_end = 1;
      ptx::mbarrier_arrive(storage.full_q);
      break;
    }
    const Work work = order.work(problem, index);
    // On its way while this piece is copied.
    const u32 next = counters.take();

    const i32 key_head = work.head / group;
    const auto load_keys = [&](i32 block) {
      u64* const full_k = &storage.full_k[keys.stage];
      ptx::mbarrier_wait(&storage.empty_k[keys.stage], keys.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full_k, G::kBytesK);
#pragma unroll
      for (int part = 0; part < G::kParts; ++part) {
        ptx::tensor_load(storage.k[keys.stage] + part * G::kBlockN * G::kRowBytes, map_k,
                         {part * G::kRowElements, key_head, block * G::kBlockN, work.batch}, full_k);
      }
      keys.advance();
    };
    load_keys(work.last_block);
    wait_for_place();
    storage.work[piece % G::kWorks] = work;
    ptx::mbarrier_arrive_expect_tx(storage.full_q, G::kBytesQ);
#pragma unroll
    for (int part = 0; part < G::kParts; ++part) {
      ptx::tensor_load(storage.q[0] + part * G::kBlockM * G::kRowBytes, map_q,
                       {part * G::kRowElements, work.head, work.row / G::kPack, work.batch}, storage.full_q);
    }
    if (next < order.pieces) {
      const Work after = order.work(problem, next);
#pragma unroll
      for (int part = 0; part < G::kParts; ++part) {
        ptx::tensor_prefetch(map_q, {part * G::kRowElements, after.head, after.row / G::kPack, after.batch});
      }
    }
    for (i32 block = work.last_block - 1; block >= work.first_block; --block) load_keys(block);
    index = next;
  }
  counters.end();
}

}  // namespace tilewright::attention
