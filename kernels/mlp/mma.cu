// SPDX-License-Identifier: Apache-2.0
//
// mlp by mma.sync: two products with tiles of one size, by gemm/fused/mma.cuh. sm_80 and later.

#include "gemm/fused/gated_mma.cuh"
#include "products.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::MmaGeometry<tilewright::gemm::PlainUp<Config>>::kThreads, 1)
    mlp_mma_up(const typename Config::dtype* x, const typename Config::dtype* w_gate,
               const typename Config::dtype* w_up, const typename Config::dtype* b_gate,
               const typename Config::dtype* b_up, typename Config::dtype* h, float* partials, unsigned* counters,
               long long rows, long long d, long long hidden) {
  using namespace tilewright::gemm;
  let_second_start();
  if constexpr (Config::gated == "yes") {
    using C = GatedUp<Config>;
    gated_mma<C>(x, {w_gate, w_up, d}, {b_gate, b_up, h, nullptr, nullptr, rows, hidden}, partials, counters, rows,
                 hidden, d);
  } else {
    using C = PlainUp<Config>;
    mma_block<C>(x, PlainMmaCopy<C>{{w_up, hidden, d}}, {b_up, nullptr, h, rows, hidden}, partials, counters, rows,
                 hidden, d);
  }
}

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::MmaGeometry<tilewright::gemm::Down<Config>>::kThreads, 1)
    mlp_mma_down(const typename Config::dtype* h, const typename Config::dtype* w_down,
                 const typename Config::dtype* b_down, typename Config::dtype* y, float* partials, unsigned* counters,
                 long long rows, long long hidden, long long d_out) {
  using namespace tilewright::gemm;
  using C = Down<Config>;
  wait_for_first();
  mma_block<C>(h, PlainMmaCopy<C>{{w_down, d_out, hidden}}, {b_down, nullptr, y, rows, d_out}, partials, counters, rows,
               d_out, hidden);
}
