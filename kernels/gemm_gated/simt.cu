// SPDX-License-Identifier: Apache-2.0
//
// gemm_gated without tensor cores, the fallback: gemm/fused/gated_simt.cuh. sm_80 and later.

#include "gemm/fused/gated_simt.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::SimtGeometry<tilewright::gemm::Gating<Config>>::kThreads)
    gemm_gated_simt(const typename Config::dtype* a, const typename Config::dtype* wg, const typename Config::dtype* wu,
                    const typename Config::dtype* w, const typename Config::dtype* bg, const typename Config::dtype* bu,
                    typename Config::dtype* y, typename Config::dtype* gate, typename Config::dtype* up, long long m,
                    long long n, long long k) {
  using namespace tilewright;
  const gemm::GatedResults<Config> results{bg, bu, y, gate, up, m, n};
  const auto weights = gemm::gated_weights<Config>(wg, wu, w, n, k);
  gemm::gated_simt<Config>(a, weights, results, m, n, k);
}
