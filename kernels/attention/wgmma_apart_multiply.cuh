// SPDX-License-Identifier: Apache-2.0
#pragma once

// A warpgroup's products and rings (wgmma_multiply.cuh) where its queries have barriers of their own, and tiles their
// places (wgmma_apart_place.cuh).

#include "wgmma_again.cuh"
#include "wgmma_apart_place.cuh"
#include "wgmma_multiply.cuh"

namespace tilewright::attention {

// The first row of a warp.
template <class Config>
struct PlacedQueries {
  const unsigned char* row;
};

template <class Config>
struct Multiplier<Apart<Config>> : Multiplier<Placed<Config>> {
  using Base = Multiplier<Placed<Config>>;
  using G = Geometry<Apart<Config>>;
  using T = typename G::T;

  __device__ __forceinline__ void wait_queries() {
    ptx::mbarrier_wait(&this->storage.full_own_q[this->warpgroup], this->piece & 1);
  }

  __device__ __forceinline__ void start_scores(float (&scores)[G::kScores]) {
    const u64 q = ptx::matrix_descriptor(this->storage.queries(this->warpgroup), 0, Base::kEightRows);
    const u64 k = ptx::matrix_descriptor(this->storage.k[this->keys.stage], 0, Base::kEightRows);
    constexpr int kStepsOfPart = G::kRowElements / G::kStep;
    constexpr u32 kStepBytes = G::kRowBytes / kStepsOfPart;
#pragma unroll
    for (int step = 0; step < G::kSteps; ++step) {
      const u32 part = static_cast<u32>(step / kStepsOfPart);
      const u32 inside = static_cast<u32>(step % kStepsOfPart) * kStepBytes;
      ptx::wgmma_shared<T, G::kBlockN>(scores, ptx::advance(q, part * G::kNextOfQueries + inside),
                                       ptx::advance(k, part * G::kPart + inside), step > 0);
    }
    ptx::wgmma_commit();
  }

  __device__ __forceinline__ void start_results(float (&results)[G::kResults], const u32 (&weights)[G::kStepsV][4],
                                                bool accumulate) {
    const u32 stage = this->values.stage;
    const u64 v = ptx::matrix_descriptor(this->storage.values(stage), G::next_of_values(stage), Base::kEightRows);
#pragma unroll
    for (int step = 0; step < G::kStepsV; ++step) {
      ptx::wgmma_registers<T, G::kColumnsV>(results, weights[step], ptx::advance(v, step * G::kStep * G::kRowBytes),
                                            accumulate || step > 0);
    }
    ptx::wgmma_commit();
  }

  __device__ __forceinline__ PlacedQueries<Config> own_queries() const {
    return {this->storage.queries(this->warpgroup) + this->thread / kWarpSize * 16 * G::kRowBytes};
  }
  __device__ __forceinline__ void release_keys(bool queries_too) {
    if (queries_too && this->thread % kWarpSize == 0) {
      ptx::mbarrier_arrive(&this->storage.empty_own_q[this->warpgroup]);
    }
    Base::release_keys(false);
  }
};

// wgmma_again.cuh's, of queries in their places.
template <class Config, class OfConfig>
__device__ __forceinline__ void score_again(float (&scores)[Geometry<Config>::kScores], PlacedQueries<OfConfig> q,
                                            const unsigned char* k, int lane) {
  using G = Geometry<Config>;
  using T = typename G::T;
  using TileQ = MmaTile<T, static_cast<int>(G::kNextOfQueries / G::kRowBytes), G::kHead>;
  using TileK = MmaTile<T, G::kBlockN, G::kHead>;
#pragma unroll
  for (int i = 0; i < G::kScores; ++i) scores[i] = 0.0f;
#pragma unroll 1
  for (int step = 0; step < G::kSteps; ++step) {
    u32 a[4];
    TileQ::load_a(a, q.row, 0, step, lane);
#pragma unroll
    for (int group = 0; group < G::kBlockN / 16; ++group) {
      u32 b[4];
      TileK::load_b(b, k, group * 16, step, lane);
      multiply_16<T>(scores + group * 8, a, b);
    }
  }
}

}  // namespace tilewright::attention
