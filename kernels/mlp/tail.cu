// SPDX-License-Identifier: Apache-2.0
//
// mlp on Hopper's tensor cores: wgmma.cu with the first product's last wave cut along k (gemm/fused/tail_wgmma.cuh).
//
//   x, w_gate, w_up, w_down, y   address and row length are multiples of 16 bytes, and so are h's
//   biases                       aligned to two elements

#include "gemm/fused/tail_wgmma.cuh"
#include "wgmma.cu"

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::Geometry<tilewright::gemm::LinearByMap<Config>>::kThreads, 1)
    mlp_tail_gated(const __grid_constant__ tilewright::TensorMap map_x,
                   const __grid_constant__ tilewright::TensorMap map_gate,
                   const __grid_constant__ tilewright::TensorMap map_up,
                   const __grid_constant__ tilewright::TensorMap map_h, const typename Config::dtype* b_gate,
                   const typename Config::dtype* b_up, float* partials, unsigned* counters, long long rows, long long d,
                   long long hidden) {
  using namespace tilewright::gemm;
  let_second_start();
  gated_wgmma<Tailed<GatedUp<Config>>, false>(map_x, map_gate, map_up, map_h, map_h, map_h, b_gate, b_up, partials,
                                              counters, rows, hidden, d);
}
