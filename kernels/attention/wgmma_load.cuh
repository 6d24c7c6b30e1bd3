// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two warps that copy, one thread of each. One takes pieces of work and copies their queries and keys, the other
// copies values, so neither waits for the other's ring. Blocks of keys go last to first: the masked ones of a causal
// problem then come at the start of a piece.

#include "device/ptx/mbarrier.cuh"
#include "device/ptx/tensor_copy4.cuh"
#include "device/ring.cuh"
#include "wgmma_geometry.cuh"
#include "work.cuh"

namespace tilewright::attention {

// Hands out the pieces that no block has begun. The last block to end resets the counters to zero.
struct Counters {
  u32* counters;  // pieces taken beyond the first of each block; blocks that have ended

  __device__ __forceinline__ u32 take() const { return atomicAdd(counters, 1u) + gridDim.x; }
  __device__ __forceinline__ void end() const {
    __threadfence();
    if (atomicAdd(counters + 1, 1u) == gridDim.x - 1) {
      atomicExch(counters, 0u);
      atomicExch(counters + 1, 0u);
    }
  }
};

// Waits until a stage is free; returns its full barrier, which then expects `bytes` bytes.
template <int kStages>
__device__ __forceinline__ u64* claim(u64 (&full)[kStages], u64 (&empty)[kStages], const Ring<kStages>& ring,
                                      u32 bytes) {
  u64* const barrier = &full[ring.stage];
  ptx::mbarrier_wait(&empty[ring.stage], ring.parity ^ 1);
  ptx::mbarrier_arrive_expect_tx(barrier, bytes);
  return barrier;
}

// Copies the parts of a tile, `next` bytes apart; the first part begins at `corner`.
template <class Config, int kParts, class Corner>
__device__ __forceinline__ void copy_parts(unsigned char* to, u32 next, const TensorMap& map, Corner corner,
                                           u64* barrier) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    corner.x = part * Geometry<Config>::kRowElements;
    tensor_load(to + part * next, map, corner, barrier);
  }
}

// Copies a block of keys of one problem once its stage is free.
template <class Config>
__device__ __forceinline__ void copy_keys(typename Geometry<Config>::Storage& storage,
                                          const Ring<Geometry<Config>::kStages>& keys, const TensorMap& map_k,
                                          i32 key_head, i32 block, i32 batch) {
  using G = Geometry<Config>;
  u64* const full_k = claim(storage.full_k, storage.empty_k, keys, G::kBytesK);
  copy_parts<Config, G::kParts>(storage.keys(keys.stage), G::kNextOfKeys, map_k,
                                ptx::BoxCorner{0, key_head, block * G::kBlockN, batch}, full_k);
}

// Copies a block of values likewise.
template <class Config>
__device__ __forceinline__ void copy_values(typename Geometry<Config>::Storage& storage,
                                            const Ring<Geometry<Config>::kStages>& values, const TensorMap& map_v,
                                            i32 key_head, i32 block, i32 batch) {
  using G = Geometry<Config>;
  u64* const full_v = claim(storage.full_v, storage.empty_v, values, G::kBytesV);
  copy_parts<Config, G::kPartsV>(storage.values(values.stage), G::next_of_values(values.stage), map_v,
                                 ptx::BoxCorner{0, key_head, block * G::kBlockN, batch}, full_v);
}

// With kLate a block takes its next piece when it waits for the stage of this one's last keys. Taken earlier, short
// pieces at the end wait for blocks that still have long ones, while others have none.
template <class Config, bool kLate>
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
    // The counter's answer arrives while this piece is copied.
    u32 next = kLate ? 0 : counters.take();

    ptx::mbarrier_arrive_expect_tx(full_q, G::kBytesQ);
#pragma unroll
    for (int part = 0; part < G::kParts; ++part) {
      ptx::tensor_load(storage.q[queries.stage] + part * G::kBlockM * G::kRowBytes, map_q,
                       {part * G::kRowElements, work.head, work.row / G::kPack, work.batch}, full_q);
    }
    const i32 key_head = work.head / group;
    for (i32 block = work.last_block; block >= work.first_block; --block, keys.advance()) {
      if (kLate && block == work.first_block) next = counters.take();
      copy_keys<Config>(storage, keys, map_k, key_head, block, work.batch);
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
      copy_values<Config>(storage, values, map_v, key_head, block, work.batch);
    }
  }
}

}  // namespace tilewright::attention
