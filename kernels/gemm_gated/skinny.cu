// SPDX-License-Identifier: Apache-2.0
//
// gemm_gated for few rows: gemm/fused/gated_skinny.cuh. sm_80 and later; with clusters sm_90.

#include "gemm/fused/gated_skinny.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::SkinnyGeometry<tilewright::gemm::Gating<Config>>::kThreads,
                                  Config::blocks)
    gemm_gated_skinny(const typename Config::dtype* a, const typename Config::dtype* wg,
                      const typename Config::dtype* wu, const typename Config::dtype* w,
                      const typename Config::dtype* bg, const typename Config::dtype* bu, typename Config::dtype* y,
                      typename Config::dtype* gate, typename Config::dtype* up, float* partials, unsigned* counters,
                      long long m, long long n, long long k) {
  using namespace tilewright;
  const gemm::GatedResults<Config> results{bg, bu, y, gate, up, m, n};
  const auto weights = gemm::gated_weights<Config>(wg, wu, w, n, k);
  gemm::gated_skinny<Config>(a, weights, results, partials, counters, m, n, k);
}
