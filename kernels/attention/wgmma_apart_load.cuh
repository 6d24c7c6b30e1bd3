// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two warps that copy, where each warpgroup of consumers waits for queries of its own: as in wgmma_load.cuh, but a
// piece's first keys do not wait for queries, a warpgroup's queries do not wait for the other warpgroups, and L2 is asked
// for them a block of keys ahead. A block takes its next piece as late as it can (wgmma_late_load.cuh).

#include "device/ptx/mbarrier.cuh"
#include "device/ptx/tensor_copy4.cuh"
#include "device/ptx/tensor_prefetch.cuh"
#include "device/ring.cuh"
#include "wgmma_apart_place.cuh"
#include "wgmma_load.cuh"

namespace tilewright::attention {

// A box of `map_q` has the rows of a warpgroup.
template <class Config>
__device__ __forceinline__ void load_own_queries_and_keys(typename Geometry<Config>::Storage& storage,
                                                          const TensorMap& map_q, const TensorMap& map_k,
                                                          const Problem& problem, const Counters& counters) {
  using G = Geometry<Config>;
  static_assert(G::kQueryStages == 1, "one stage of queries");
  const Order<Config> order(problem);
  const i32 group = problem.heads / problem.key_heads;
  const auto own_token = [](const Work& work, int warpgroup) {
    return (work.row + warpgroup * G::kWarpgroupRows) / G::kPack;
  };
  Ring<G::kStages> keys;
  u32 index = blockIdx.x;
  for (u32 piece = 0;; ++piece) {
    const auto wait_for_place = [&](int warpgroup) {
      ptx::mbarrier_wait(&storage.empty_own_q[warpgroup], (piece & 1) ^ 1);
    };
    if (index >= order.pieces) {
      storage.work[piece % G::kWorks].is_end = 1;
      for (int warpgroup = 0; warpgroup < G::kConsumers; ++warpgroup) {
        wait_for_place(warpgroup);
        ptx::mbarrier_arrive(&storage.full_own_q[warpgroup]);
      }
      break;
    }
    const Work work = order.work(problem, index);
    storage.work[piece % G::kWorks] = work;
    u32 next = 0;
    const i32 key_head = work.head / group;
    const auto load_keys = [&](i32 block) {
      if (block == work.first_block) next = counters.take();
      u64* const full_k = &storage.full_k[keys.stage];
      ptx::mbarrier_wait(&storage.empty_k[keys.stage], keys.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full_k, G::kBytesK);
#pragma unroll
      for (int part = 0; part < G::kParts; ++part) {
        ptx::tensor_load(storage.k[keys.stage] + part * G::kPart, map_k,
                         {part * G::kRowElements, key_head, block * G::kBlockN, work.batch}, full_k);
      }
      keys.advance();
    };
    load_keys(work.last_block);
#pragma unroll 1
    for (int warpgroup = 0; warpgroup < G::kConsumers; ++warpgroup) {
      u64* const full_q = &storage.full_own_q[warpgroup];
      wait_for_place(warpgroup);
      ptx::mbarrier_arrive_expect_tx(full_q, G::kOwnBytesQ);
#pragma unroll
      for (int part = 0; part < G::kParts; ++part) {
        ptx::tensor_load(storage.queries(warpgroup) + part * G::kNextOfQueries, map_q,
                         {part * G::kRowElements, work.head, own_token(work, warpgroup), work.batch}, full_q);
      }
    }
    for (i32 block = work.last_block - 1; block >= work.first_block; --block) load_keys(block);
    if (next < order.pieces) {
      const Work after = order.work(problem, next);
#pragma unroll 1
      for (int warpgroup = 0; warpgroup < G::kConsumers; ++warpgroup) {
#pragma unroll
        for (int part = 0; part < G::kParts; ++part) {
          ptx::tensor_prefetch(map_q, {part * G::kRowElements, after.head, own_token(after, warpgroup), after.batch});
        }
      }
    }
    index = next;
  }
  counters.end();
}

template <class Config>
__device__ __forceinline__ void load_values_apart(typename Geometry<Config>::Storage& storage, const TensorMap& map_v,
                                                  const Problem& problem) {
  using G = Geometry<Config>;
  const i32 group = problem.heads / problem.key_heads;
  Ring<G::kStages> values;
  for (u32 piece = 0;; ++piece) {
    ptx::mbarrier_wait(&storage.full_own_q[0], piece & 1);
    const Work work = storage.work[piece % G::kWorks];
    if (work.is_end) break;
    ptx::mbarrier_arrive(&storage.empty_own_q[0]);
    const i32 key_head = work.head / group;
    for (i32 block = work.last_block; block >= work.first_block; --block, values.advance()) {
      u64* const full_v = &storage.full_v[values.stage];
      ptx::mbarrier_wait(&storage.empty_v[values.stage], values.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full_v, G::kBytesV);
#pragma unroll
      for (int part = 0; part < G::kPartsV; ++part) {
        ptx::tensor_load(storage.values(values.stage) + part * G::next_of_values(values.stage), map_v,
                         {part * G::kRowElements, key_head, block * G::kBlockN, work.batch}, full_v);
      }
    }
  }
}

}  // namespace tilewright::attention
