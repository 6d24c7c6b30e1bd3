// SPDX-License-Identifier: Apache-2.0
//
// mlp without tensor cores, the fallback: two products by gemm/fused/simt.cuh. sm_80 and later.

#include "gemm/fused/gated_simt.cuh"
#include "products.cuh"

template <class Config>
__global__ void __launch_bounds__(64)
    mlp_simt_up(const typename Config::dtype* x, const typename Config::dtype* w_gate,
                const typename Config::dtype* w_up, const typename Config::dtype* b_gate,
                const typename Config::dtype* b_up, typename Config::dtype* h, long long rows, long long d,
                long long hidden) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  let_second_start();
  if constexpr (Config::gated == "yes") {
    using C = GatedUp<Config>;
    gated_simt<C>(x, {w_gate, w_up, d}, {b_gate, b_up, h, nullptr, nullptr, rows, hidden}, rows, hidden, d);
  } else {
    using C = PlainUp<Config>;
    simt_tiles<C>(rows, hidden, d, [&](SimtTile<C>& tile, auto& buffers, i64 row, i64 column, u32 blocks) {
      tile.compute(buffers, {x, rows, d}, {w_up, hidden, d}, row, column, 0, blocks);
      tile.store({b_up, nullptr, h, rows, hidden}, row, column);
    });
  }
}

template <class Config>
__global__ void __launch_bounds__(64)
    mlp_simt_down(const typename Config::dtype* h, const typename Config::dtype* w_down,
                  const typename Config::dtype* b_down, typename Config::dtype* y, long long rows, long long hidden,
                  long long d_out) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using C = Down<Config>;
  wait_for_first();
  simt_tiles<C>(rows, d_out, hidden, [&](SimtTile<C>& tile, auto& buffers, i64 row, i64 column, u32 blocks) {
    tile.compute(buffers, {h, rows, hidden}, {w_down, d_out, hidden}, row, column, 0, blocks);
    tile.store({b_down, nullptr, y, rows, d_out}, row, column);
  });
}
