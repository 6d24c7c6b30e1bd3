// SPDX-License-Identifier: Apache-2.0
#pragma once

// The thread that copies: keys and values once, and queries with lse, and do with delta, step after step.

#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ptx/tensor_copy4.cuh"
#include "device/ring.cuh"
#include "wgmma_geometry.cuh"

namespace tilewright::attention {

// All parts of kRows rows of a head.
template <int kParts, int kRows>
__device__ __forceinline__ void load_rows(unsigned char* to, const TensorMap& map, i32 head, i32 token, i32 batch,
                                          u64* barrier) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    ptx::tensor_load(to + part * kRows * 128, map, ptx::BoxCorner{part * 64, head, token, batch}, barrier);
  }
}

// `lse` and `delta` have whole blocks of each head. Of the work it takes every gridDim'th piece.
template <class Config>
__device__ __forceinline__ void load_all(typename BackwardTiles<Config>::Storage& storage, const TensorMap& map_q,
                                         const TensorMap& map_k, const TensorMap& map_v, const TensorMap& map_do,
                                         const float* lse, const float* delta, const BackwardProblem& problem) {
  using G = BackwardTiles<Config>;
  constexpr u32 kRowsBytes = G::kQueries * sizeof(float);
  Ring<G::kStages> ring;
  Ring<G::kKeyStages> keys;
  bool is_first = true;
  for (u32 index = blockIdx.x; index < problem.pieces; index += gridDim.x) {
    const BackwardWork work = make_backward_work<Config>(problem, index);
    const i32 steps = work.steps();
    if (steps == 0) continue;
    const u32 of_keys = keys.stage;
    ptx::mbarrier_wait(&storage.empty_keys[of_keys], keys.parity ^ 1);
    keys.advance();
    ptx::mbarrier_arrive_expect_tx(&storage.full_k[of_keys], G::kBytesK);
    load_rows<G::kParts, G::kKeys>(storage.k[of_keys], map_k, work.key_head, work.first_key, work.batch,
                                   &storage.full_k[of_keys]);
    if (is_first) ptx::grid_dependency_wait();
    is_first = false;
    for (i32 step = 0; step < steps; ++step, ring.advance()) {
      const i32 head = work.head(step), query = work.block(step) * G::kQueries;
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

}  // namespace tilewright::attention
