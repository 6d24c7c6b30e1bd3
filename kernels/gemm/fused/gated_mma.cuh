// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gated products by mma.cuh.

#include "gated.cuh"
#include "mma.cuh"

namespace tilewright::gemm {

template <class Config>
inline constexpr int kLeastSums<Gating<Config>> = 2;

template <class Config>
struct GatedMmaCopy {
  using G = MmaGeometry<Config>;
  using Copy = GatedCopy<typename G::TileB, Config::vec, G::kThreads>;

  GatedWeights<typename Config::dtype> weights;
  i64 n, k;

  __device__ __forceinline__ Copy at(i64 column, u32 block, int thread) const {
    return Copy(weights, n, k, column, block, thread);
  }
};

template <class Config>
__device__ __forceinline__ void gated_mma(const typename Config::dtype* a,
                                          const GatedWeights<typename Config::dtype>& weights,
                                          const GatedResults<Config>& results, float* partial, u32* counters, i64 m,
                                          i64 n, i64 k) {
  using C = Gating<Config>;
  mma_block<C>(a, GatedMmaCopy<C>{weights, n, k}, Output<C>(results), partial, counters, m, 2 * n, k);
}

}  // namespace tilewright::gemm
