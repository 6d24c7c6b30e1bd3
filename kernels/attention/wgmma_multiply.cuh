// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two products of a block of keys, as one warpgroup starts them, and its way through the rings that the copies
// fill. Products are asynchronous: ptx/wgmma.cuh has the fences and waits.

#include "device/ptx/mbarrier.cuh"
#include "device/ptx/wgmma.cuh"
#include "device/ptx/wgmma_steps.cuh"
#include "device/ring.cuh"
#include "wgmma_geometry.cuh"
#include "work.cuh"

namespace tilewright::attention {

// A warpgroup's products and its places in the rings.
template <class Config>
struct Multiplier {
  using G = Geometry<Config>;
  using T = typename G::T;
  enum : u32 { kEightRows = 8 * G::kRowBytes };

  typename G::Storage& storage;
  int warpgroup;  // among the consumers
  int thread;     // in the warpgroup
  u32 piece;      // whose queries are multiplied
  Ring<G::kStages> keys, values;

  __device__ __forceinline__ u32 query_stage() const { return piece % G::kQueryStages; }
  __device__ __forceinline__ void wait_queries() {
    ptx::mbarrier_wait(&storage.full_q[query_stage()], piece / G::kQueryStages & 1);
  }
  __device__ __forceinline__ const Work& work() const { return storage.work[piece % G::kWorks]; }
  __device__ __forceinline__ const Work& work_before() const { return storage.work[(piece - 1) % G::kWorks]; }

  // Starts scores = q kᵀ, of the current queries and keys.
  __device__ __forceinline__ void start_scores(float (&scores)[G::kScores]) {
    const u64 q = ptx::matrix_descriptor(storage.queries(query_stage(), warpgroup), 0, kEightRows);
    const u64 k = ptx::matrix_descriptor(storage.keys(keys.stage), 0, kEightRows);
    constexpr int kStepsOfPart = G::kRowElements / G::kStep;
    constexpr u32 kStepBytes = G::kRowBytes / kStepsOfPart;
#pragma unroll
    for (int step = 0; step < G::kSteps; ++step) {
      const u32 part = static_cast<u32>(step / kStepsOfPart);
      const u32 inside = static_cast<u32>(step % kStepsOfPart) * kStepBytes;
      ptx::wgmma_shared<T, G::kBlockN>(scores, ptx::advance(q, part * G::kNextOfQueries + inside),
                                       ptx::advance(k, part * G::kNextOfKeys + inside), step > 0);
    }
    ptx::wgmma_commit();
  }

  // Starts results = weights · v, or += if `accumulate`. With ones behind the values, the results include the weights'
  // sums.
  __device__ __forceinline__ void start_results(float (&results)[G::kResults], const u32 (&weights)[G::kStepsV][4],
                                                bool accumulate) {
    const u32 stage = values.stage;
    const u64 v = ptx::matrix_descriptor(storage.values(stage), G::next_of_values(stage), kEightRows);
#pragma unroll
    for (int step = 0; step < G::kStepsV; ++step) {
      ptx::wgmma_registers<T, G::kColumnsV>(results, weights[step], ptx::advance(v, step * G::kStep * G::kRowBytes),
                                            accumulate || step > 0);
    }
    ptx::wgmma_commit();
  }

  // This warp's first row of queries.
  __device__ __forceinline__ const unsigned char* own_queries() const {
    return storage.q[query_stage()] + (warpgroup * G::kWarpgroupRows + thread / kWarpSize * 16) * G::kRowBytes;
  }
  __device__ __forceinline__ void wait_keys() { ptx::mbarrier_wait(&storage.full_k[keys.stage], keys.parity); }
  __device__ __forceinline__ void wait_values() { ptx::mbarrier_wait(&storage.full_v[values.stage], values.parity); }

  // The turn before `ring`.
  __device__ __forceinline__ static Ring<G::kStages> before(const Ring<G::kStages>& ring) {
    return ring.stage == 0 ? Ring<G::kStages>{G::kStages - 1, ring.parity ^ 1}
                           : Ring<G::kStages>{ring.stage - 1, ring.parity};
  }

  // Releases the keys, each warp for itself: without products the warps of a warpgroup are not in step, and a late one
  // must not find the stage refilled.
  __device__ __forceinline__ void release_keys(bool queries_too) {
    if (thread % kWarpSize == 0) {
      ptx::mbarrier_arrive(&storage.empty_k[keys.stage]);
      if (queries_too) ptx::mbarrier_arrive(&storage.empty_q[query_stage()]);
    }
    keys.advance();
  }
  __device__ __forceinline__ void release_values() {
    if (thread % kWarpSize == 0) ptx::mbarrier_arrive(&storage.empty_v[values.stage]);
    values.advance();
  }
};

}  // namespace tilewright::attention
