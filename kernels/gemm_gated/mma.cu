// SPDX-License-Identifier: Apache-2.0
//
// gemm_gated by mma.sync: gemm/fused/gated_mma.cuh. sm_80 and later.

#include "gemm/fused/gated_mma.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::MmaGeometry<tilewright::gemm::Gating<Config>>::kThreads, 1)
    gemm_gated_mma(const typename Config::dtype* a, const typename Config::dtype* wg, const typename Config::dtype* wu,
                   const typename Config::dtype* w, const typename Config::dtype* bg, const typename Config::dtype* bu,
                   typename Config::dtype* y, typename Config::dtype* gate, typename Config::dtype* up, float* partial,
                   unsigned* counters, long long m, long long n, long long k) {
  using namespace tilewright;
  const gemm::GatedResults<Config> results{bg, bu, y, gate, up, m, n};
  const auto weights = gemm::gated_weights<Config>(wg, wu, w, n, k);
  gemm::gated_mma<Config>(a, weights, results, partial, counters, m, n, k);
}
