// SPDX-License-Identifier: Apache-2.0
//
// mlp on Hopper's tensor cores: h by gemm/fused/gated_wgmma.cuh or gemm/wgmma.cu, then y by gemm/wgmma.cu.
//
//   x, w_gate, w_up, w_down, y   address and row length are multiples of 16 bytes, and so are h's
//   biases                       aligned to two elements

#include "gemm/fused/gated_wgmma.cuh"
#include "products.cuh"

namespace tilewright::gemm {

// The second product has tiles of its own, and as many stages as fit: `down_stages` of wgmma.toml.
template <class Config>
struct WgmmaDown : LinearByMap<Down<Config>> {
  static constexpr int block_m = Config::down_block_m, block_n = Config::down_block_n;
  static constexpr int consumers = block_m == 64 ? 1 : 2, pingpong = Config::down_pingpong;
  static constexpr int split_k = Config::down_split_k, cluster_k = split_k, cluster_m = Config::down_cluster_m,
                       cluster_n = 1;
  static constexpr int group = 8 / cluster_m;
  static constexpr int stages = Config::down_stages;
};

}  // namespace tilewright::gemm

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::Geometry<tilewright::gemm::LinearByMap<Config>>::kThreads, 1)
    mlp_wgmma_gated(const __grid_constant__ tilewright::TensorMap map_x,
                    const __grid_constant__ tilewright::TensorMap map_gate,
                    const __grid_constant__ tilewright::TensorMap map_up,
                    const __grid_constant__ tilewright::TensorMap map_h, const typename Config::dtype* b_gate,
                    const typename Config::dtype* b_up, float* partials, unsigned* counters, long long rows,
                    long long d, long long hidden) {
  using namespace tilewright::gemm;
  let_second_start();
  gated_wgmma<GatedUp<Config>, false>(map_x, map_gate, map_up, map_h, map_h, map_h, b_gate, b_up, partials, counters,
                                      rows, hidden, d);
}

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::Geometry<tilewright::gemm::LinearByMap<Config>>::kThreads, 1)
    mlp_wgmma_up(const __grid_constant__ tilewright::TensorMap map_x,
                 const __grid_constant__ tilewright::TensorMap map_up,
                 const __grid_constant__ tilewright::TensorMap map_h, const typename Config::dtype* b_up,
                 float* partials, unsigned* counters, long long rows, long long d, long long hidden) {
  using namespace tilewright::gemm;
  let_second_start();
  run<LinearByMap<PlainUp<Config>>>(map_x, map_up, map_h, b_up, nullptr, nullptr, partials, counters, rows, hidden, d);
}

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::Geometry<tilewright::gemm::WgmmaDown<Config>>::kThreads, 1)
    mlp_wgmma_down(const __grid_constant__ tilewright::TensorMap map_h,
                   const __grid_constant__ tilewright::TensorMap map_down,
                   const __grid_constant__ tilewright::TensorMap map_y, const typename Config::dtype* b_down,
                   long long rows, long long hidden, long long d_out) {
  using namespace tilewright::gemm;
  run<WgmmaDown<Config>>(map_h, map_down, map_y, b_down, nullptr, nullptr, nullptr, nullptr, rows, d_out, hidden);
}
