// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two warps that copy, as in attention/wgmma_load.cuh, for sequences that follow one another. Boxes of tokens begin
// with the sequence and may end in the next one. The next one's queries are not stored, its keys are masked. A weight
// of 0 times a NaN value would be NaN, so the warp that copies values overwrites the next sequence's with zeros.

#include "attention/wgmma_geometry.cuh"
#include "attention/wgmma_load.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ptx/tensor_copy3.cuh"
#include "device/ring.cuh"
#include "wgmma_plan.cuh"

namespace tilewright::attention {

// The sequence of a piece.
struct OfPiece {
  Problem problem;
  i32 first_query, first_key;
};

// The part after the rings, in the padding of the dense kernel's storage.
template <class Config>
struct Beside {
  using G = Geometry<Config>;
  OfPiece pieces[G::kWorks];
  u64 tail;  // the values of a block that ends with its sequence have arrived

  __device__ static __forceinline__ Beside& of(typename G::Storage& storage) {
    static_assert(sizeof(Work) * G::kWorks + 16 * G::kQueryStages + 32 * G::kStages + sizeof(Beside) <= 1024,
                  "the storage's last 1024 bytes have room");
    return *reinterpret_cast<Beside*>(storage.empty_v + G::kStages);
  }
  __device__ __forceinline__ const OfPiece& at(u32 piece) const { return pieces[piece % G::kWorks]; }
};

template <class Config>
__device__ __forceinline__ void load_queries_and_keys(typename Geometry<Config>::Storage& storage,
                                                      const TensorMap& map_q, const TensorMap& map_k,
                                                      const PackedCall& packed, const Planned* plan,
                                                      const Counters& counters, int lane) {
  using G = Geometry<Config>;
  const i32 group = packed.heads / packed.key_heads;
  Ring<G::kQueryStages> queries;
  Ring<G::kStages> keys;
  const u32 pieces = plan[packed.batches].first_piece;
  i32 rank = 0;
  u32 index = blockIdx.x, next = 0;
  u32 piece = 0;
  for (; index < pieces; ++piece, queries.advance()) {
    const Planned sequence = find_sequence(plan, packed.batches, index, rank, lane);
    if (lane == 0) {
      const Problem problem = packed.problem_of(sequence);
      const Work work = Order<Config>(problem).work(problem, index - sequence.first_piece);
      ptx::mbarrier_wait(&storage.empty_q[queries.stage], queries.parity ^ 1);
      storage.work[piece % G::kWorks] = work;
      Beside<Config>::of(storage).pieces[piece % G::kWorks] = {problem, sequence.first_query, sequence.first_key};
      // The counter's answer arrives while this piece is copied.
      next = counters.take();

      ptx::mbarrier_arrive_expect_tx(&storage.full_q[queries.stage], G::kBytesQ);
      copy_parts<Config, G::kParts>(storage.q[queries.stage], G::kNextOfQueries, map_q,
                                    ptx::BoxCorner3{0, work.head, sequence.first_query + work.row},
                                    &storage.full_q[queries.stage]);
      const i32 key_head = work.head / group;
      for (i32 block = work.last_block; block >= work.first_block; --block, keys.advance()) {
        u64* const full_k = claim(storage.full_k, storage.empty_k, keys, G::kBytesK);
        copy_parts<Config, G::kParts>(storage.keys(keys.stage), G::kNextOfKeys, map_k,
                                      ptx::BoxCorner3{0, key_head, sequence.first_key + block * G::kBlockN}, full_k);
      }
    }
    index = __shfl_sync(kFullMask, next, 0);
  }
  if (lane == 0) {
    ptx::mbarrier_wait(&storage.empty_q[queries.stage], queries.parity ^ 1);
    storage.work[piece % G::kWorks].is_end = 1;
    ptx::mbarrier_arrive(&storage.full_q[queries.stage]);
    counters.end();
  }
}

// Zeroes the rows of a stage of values from `first` on. A warp calls.
template <class Config>
__device__ __forceinline__ void clear_values(unsigned char* values, i32 first, int lane) {
  using G = Geometry<Config>;
  constexpr int kLanesOfRow = G::kRowBytes / 16;
  for (i32 row = first + lane / kLanesOfRow; row < G::kBlockN; row += kWarpSize / kLanesOfRow) {
#pragma unroll
    for (int part = 0; part < G::kPartsV; ++part) {
      *reinterpret_cast<Bits128*>(values + (part * G::kBlockN + row) * G::kRowBytes + lane % kLanesOfRow * 16) = {};
    }
  }
}

template <class Config>
__device__ __forceinline__ void load_values(typename Geometry<Config>::Storage& storage, const TensorMap& map_v,
                                            const PackedCall& packed, int lane) {
  using G = Geometry<Config>;
  const i32 group = packed.heads / packed.key_heads;
  auto& beside = Beside<Config>::of(storage);
  Ring<G::kQueryStages> queries;
  Ring<G::kStages> values;
  u32 tail_parity = 0;
  for (u32 piece = 0;; ++piece, queries.advance()) {
    ptx::mbarrier_wait(&storage.full_q[queries.stage], queries.parity);
    const Work work = storage.work[piece % G::kWorks];
    if (work.is_end) break;
    const i32 first_key = beside.at(piece).first_key, end = beside.at(piece).problem.keys;
    __syncwarp();  // all lanes have read
    if (lane == 0) ptx::mbarrier_arrive(&storage.empty_q[queries.stage]);
    const i32 key_head = work.head / group;
    for (i32 block = work.last_block; block >= work.first_block; --block, values.advance()) {
      const bool is_tail = end < (block + 1) * G::kBlockN;
      u64* const full_v = &storage.full_v[values.stage];
      if (lane == 0) {
        u64* const come = is_tail ? &beside.tail : full_v;
        ptx::mbarrier_wait(&storage.empty_v[values.stage], values.parity ^ 1);
        ptx::mbarrier_arrive_expect_tx(come, G::kBytesV);
        copy_parts<Config, G::kPartsV>(storage.values(values.stage), G::next_of_values(values.stage), map_v,
                                       ptx::BoxCorner3{0, key_head, first_key + block * G::kBlockN}, come);
      }
      if (is_tail) {
        ptx::mbarrier_wait(&beside.tail, tail_parity);
        tail_parity ^= 1;
        const i32 own = end - block * G::kBlockN;
        clear_values<Config>(storage.values(values.stage), own > 0 ? own : 0, lane);
        ptx::fence_shared_to_async();
        __syncwarp();
        if (lane == 0) ptx::mbarrier_arrive(full_v);
      }
    }
  }
}

}  // namespace tilewright::attention
