// SPDX-License-Identifier: Apache-2.0
//
// gemm_gated on Hopper's tensor cores: gemm/fused/gated_wgmma.cuh.
//
//   a, the weights, y, gate, up   address and row length are multiples of 16 bytes
//   bg, bu                        aligned to two elements
//
// If the weights are one matrix, one map is passed twice.

#include "gemm/fused/gated_wgmma.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::Geometry<tilewright::gemm::LinearByMap<Config>>::kThreads, 1)
    gemm_gated_wgmma(const __grid_constant__ tilewright::TensorMap map_a,
                     const __grid_constant__ tilewright::TensorMap map_gate,
                     const __grid_constant__ tilewright::TensorMap map_up,
                     const __grid_constant__ tilewright::TensorMap map_y, const typename Config::dtype* bg,
                     const typename Config::dtype* bu, float* partials, unsigned* counters, long long m, long long n,
                     long long k) {
  tilewright::gemm::gated_wgmma<Config, false>(map_a, map_gate, map_up, map_y, map_y, map_y, bg, bu, partials, counters,
                                               m, n, k);
}

// store=yes.
template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::Geometry<tilewright::gemm::LinearByMap<Config>>::kThreads, 1)
    gemm_gated_wgmma_keeping(const __grid_constant__ tilewright::TensorMap map_a,
                             const __grid_constant__ tilewright::TensorMap map_gate,
                             const __grid_constant__ tilewright::TensorMap map_up,
                             const __grid_constant__ tilewright::TensorMap map_y,
                             const __grid_constant__ tilewright::TensorMap map_kept_gate,
                             const __grid_constant__ tilewright::TensorMap map_kept_up,
                             const typename Config::dtype* bg, const typename Config::dtype* bu, float* partials,
                             unsigned* counters, long long m, long long n, long long k) {
  tilewright::gemm::gated_wgmma<Config, true>(map_a, map_gate, map_up, map_y, map_kept_gate, map_kept_up, bg, bu,
                                              partials, counters, m, n, k);
}
