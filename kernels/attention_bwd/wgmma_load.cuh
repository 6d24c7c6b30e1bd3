// SPDX-License-Identifier: Apache-2.0
#pragma once

// The thread that copies: keys and values once, then queries with lse, and do with delta, step after step; and the
// thread that adds dq to its sums, or two in turns.

#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/global_reduce.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ptx/tensor_copy4.cuh"
#include "device/ring.cuh"
#include "wgmma_geometry.cuh"

namespace tilewright::attention {

// Copies all parts of kRows rows of a head.
template <int kParts, int kRows>
__device__ __forceinline__ void load_rows(unsigned char* to, const TensorMap& map, i32 head, i32 token, i32 batch,
                                          u64* barrier) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    ptx::tensor_load(to + part * kRows * 128, map, ptx::BoxCorner{part * 64, head, token, batch}, barrier);
  }
}

// Runs the thread that copies. `lse` and `delta` have whole blocks of each head. A persistent block takes every
// gridDim'th piece, or pieces from `counter`, and publishes their numbers.
template <class Config>
__device__ __forceinline__ void load_all(typename BackwardTiles<Config>::Storage& storage, const TensorMap& map_q,
                                         const TensorMap& map_k, const TensorMap& map_v, const TensorMap& map_do,
                                         const float* lse, const float* delta, u32* counter,
                                         const BackwardProblem& problem) {
  using G = BackwardTiles<Config>;
  constexpr u32 kRowsBytes = G::kQueries * sizeof(float);
  Ring<G::kStages> ring;
  Ring<G::kKeyStages> keys;
  bool is_first = true;
  u32 next;
  for (u32 index = first_piece<G>(); G::kTakes || index < problem.pieces; index = next) {
    const BackwardWork work = make_backward_work<Config>(problem, index);
    const bool exists = index < problem.pieces;
    const i32 steps = exists ? work.steps() : 0;
    next = next_piece<G>(index);
    if (!G::kTakes && steps == 0) continue;
    const u32 of_keys = keys.stage;
    u64* const full_k = &storage.full_k[of_keys];
    ptx::mbarrier_wait(&storage.empty_keys[of_keys], keys.parity ^ 1);
    keys.advance();
    if constexpr (G::kTakes) storage.pieces[of_keys] = exists ? index : u32{G::kNone};
    if (steps > 0) {
      ptx::mbarrier_arrive_expect_tx(full_k, G::kBytesK);
      load_rows<G::kParts, G::kKeys>(storage.k[of_keys], map_k, work.key_head, work.first_key, work.batch, full_k);
    } else {
      ptx::mbarrier_arrive(full_k);
      // Nobody reads its values, but the next piece in this stage has the next phase.
      if constexpr (G::kTakes) ptx::mbarrier_arrive(&storage.full_v[of_keys]);
    }
    if (!exists) return;
    if (is_first) ptx::grid_dependency_wait();
    is_first = false;
    // The counter's answer arrives while this piece is copied.
    if constexpr (G::kTakes) {
      if (!G::kPairs) next = atomicAdd(counter, 1u) + gridDim.x;
      if (G::kPairs && index % 2 == 1) next = 2 * (atomicAdd(counter, 1u) + gridDim.x);
    }
    for (i32 step = 0; step < steps; ++step, ring.advance()) {
      const i32 head = work.head(step), query = work.template block<G>(step) * G::kQueries;
      const i64 row = (i64{work.batch} * problem.heads + head) * problem.query_blocks * G::kQueries + query;
      const u32 stage = ring.stage;
      ptx::mbarrier_wait(&storage.empty_q[stage], ring.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(&storage.full_q[stage], G::kBytesQ + kRowsBytes);
      load_rows<G::kParts, G::kQueries>(storage.q[stage], map_q, head, query, work.batch, &storage.full_q[stage]);
      ptx::bulk_load(storage.lse[stage], lse + row, kRowsBytes, &storage.full_q[stage]);
      if (step == 0) {
        ptx::mbarrier_arrive_expect_tx(&storage.full_v[of_keys], G::kBytesV);
        load_rows<G::kPartsV, G::kKeys>(storage.v[of_keys], map_v, work.key_head, work.first_key, work.batch,
                                        &storage.full_v[of_keys]);
      }
      ptx::mbarrier_wait(&storage.empty_do[stage], ring.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(&storage.full_do[stage], G::kBytesDo + kRowsBytes);
      load_rows<G::kPartsV, G::kQueries>(storage.d_o[stage], map_do, head, query, work.batch, &storage.full_do[stage]);
      ptx::bulk_load(storage.delta[stage], delta + row, kRowsBytes, &storage.full_do[stage]);
    }
  }
}

// Runs the thread that adds dq to global memory. `sums` has the tiles, kTileDq floats each, by batch, head and block.
// For the same bits at each launch, blocks of keys add to a tile in turns: each sum has a counter, zero at first.
template <class Config>
__device__ __forceinline__ void add_all(typename BackwardTiles<Config>::Storage& storage, float* sums, u32* turns,
                                        const BackwardProblem& problem, int adder) {
  using G = BackwardTiles<Config>;
  Ring<G::kKeyStages> keys;
  u32 count = 0;  // of steps
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
    for (i32 step = 0; step < work.steps(); ++step, ++count) {
      if (G::kAdders == 2 && static_cast<int>(count % 2) != adder) continue;
      i64 tile = tile_of<G>(problem, work, step);
      bool is_first = false;
      u32 turn = 0;
      if constexpr (G::kStores) {
        const Turn own = turn_of<Config>(problem, work, work.template block<G>(step));
        turn = static_cast<u32>(own.before);
        is_first = turn == 0;
        if (own.is_second) tile += i64{problem.batches} * problem.heads * problem.query_blocks;
      } else if constexpr (G::kOrdered) {
        turn = adders_before<Config>(problem, work, work.template block<G>(step));
      }
      ptx::mbarrier_wait(&storage.full_dq[adder], count / G::kAdders % 2);
      if constexpr (G::kOrdered) {
        while (turn > 0 && ptx::load_acquire(turns + tile) != turn) {
        }
        ptx::fence_global_to_async();
      }
      if (is_first) {
        ptx::bulk_store(sums + tile * G::kTileDq, storage.dq, G::kTileDq * sizeof(float));
      } else {
        ptx::bulk_reduce_add(sums + tile * G::kTileDq, storage.dq, G::kTileDq * sizeof(float));
      }
      ptx::bulk_commit();
      ptx::bulk_wait_read<0>();
      ptx::mbarrier_arrive(&storage.empty_dq);
      if constexpr (G::kOrdered) {
        ptx::bulk_wait<0>();
        ptx::add_release(turns + tile, 1);
      }
    }
  }
  ptx::bulk_wait<0>();
}

}  // namespace tilewright::attention
