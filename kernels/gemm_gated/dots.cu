// SPDX-License-Identifier: Apache-2.0
//
// gemm_gated for one to four rows: gemm/fused/dots.cuh, a gate and its up in one warp. sm_80 and later.

#include "gemm/fused/dots.cuh"
#include "gemm/fused/gated.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    gemm_gated_dots(const typename Config::dtype* a, const typename Config::dtype* wg, const typename Config::dtype* wu,
                    const typename Config::dtype* w, const typename Config::dtype* bg, const typename Config::dtype* bu,
                    typename Config::dtype* y, typename Config::dtype* gate, typename Config::dtype* up, long long m,
                    long long n, long long k) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  const GatedResults<Config> results{bg, bu, y, gate, up, m, n};
  const auto weights = gated_weights<Config>(wg, wu, w, n, k);
  Dots<Config, 2>(a, {{weights.gate, weights.up}, weights.pitch}, m, n, k).run([] {}, results);
}
