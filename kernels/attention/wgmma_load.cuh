// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two warps that copy, one thread of each: one takes pieces of work and brings their queries and keys, the other
// brings values. Apart, neither waits for what only the other's ring needs. Blocks of keys come last to first: the
// masked ones of a causal problem are then at the start of a piece.

#include "device/ptx/mbarrier.cuh"
#include "device/ptx/tensor_copy4.cuh"
#include "device/ring.cuh"
#include "wgmma_geometry.cuh"
#include "work.cuh"

namespace tilewright::attention {

// Pieces that no block has begun. The last block to end leaves the counters as it found them: zero.
struct Counters {
  u32* counters;  // the pieces taken beyond the first of each block, and the blocks that have ended

  __device__ __forceinline__ u32 take() const { return atomicAdd(counters, 1u) + gridDim.x; }
  __device__ __forceinline__ void end() const {
    __threadfence();
    if (atomicAdd(counters + 1, 1u) == gridDim.x - 1) {
      atomicExch(counters, 0u);
      atomicExch(counters + 1, 0u);
    }
  }
};

template <class Config>
__device__ __forceinline__ void load_queries_and_keys(typename Geometry<Config>::Storage& storage,
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
    // On its way while this piece is copied.
    const u32 next = counters.take();

    ptx::mbarrier_arrive_expect_tx(full_q, G::kBytesQ);
#pragma unroll
    for (int part = 0; part < G::kParts; ++part) {
      ptx::tensor_load(storage.q[queries.stage] + part * G::kBlockM * G::kRowBytes, map_q,
                       {part * G::kRowElements, work.head, work.row / G::kPack, work.batch}, full_q);
    }
    const i32 key_head = work.head / group;
    for (i32 block = work.last_block; block >= work.first_block; --block, keys.advance()) {
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

template <class Config>
__device__ __forceinline__ void load_values(typename Geometry<Config>::Storage& storage, const TensorMap& map_v,
                                            const Problem& problem) {
  using G = Geometry<Config>;
  const i32 group = problem.heads / problem.key_heads;
  Ring<G::kQueryStages> queries;
  Ring<G::kStages> values;
  for (u32 piece = 0;; ++piece, queries.advance()) {
    ptx::mbarrier_wait(&storage.full_q[queries.stage], queries.parity);
    const Work work = storage.work[piece % G::kWorks];
    if (work.is_end) break;
    ptx::mbarrier_arrive(&storage.empty_q[queries.stage]);
    const i32 key_head = work.head / group;
    for (i32 block = work.last_block; block >= work.first_block; --block, values.advance()) {
      u64* const full_v = &storage.full_v[values.stage];
      ptx::mbarrier_wait(&storage.empty_v[values.stage], values.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full_v, G::kBytesV);
#pragma unroll
      for (int part = 0; part < G::kPartsV; ++part) {
        ptx::tensor_load(storage.v[values.stage] + part * G::kBlockN * G::kRowBytes, map_v,
                         {part * G::kRowElements, key_head, block * G::kBlockN, work.batch}, full_v);
      }
    }
  }
}

}  // namespace tilewright::attention
