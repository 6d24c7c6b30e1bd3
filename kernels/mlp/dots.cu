// SPDX-License-Identifier: Apache-2.0
//
// mlp for one to four rows: two products by gemm/fused/dots.cuh. The second has its first weights under way before it
// waits for the rows. sm_80 and later.

#include "gemm/fused/dots.cuh"
#include "gemm/fused/gated.cuh"
#include "products.cuh"

namespace tilewright::gemm {

// One weight instead of two: as many bytes under way.
template <class Config>
struct OneWeight : Config {
  static constexpr int unroll = 2 * Config::unroll;
};
template <class Config>
struct DotsDown : OneWeight<Down<Config>> {
  static constexpr bool kWaitsForA = true;
};

}  // namespace tilewright::gemm

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    mlp_dots_up(const typename Config::dtype* x, const typename Config::dtype* w_gate,
                const typename Config::dtype* w_up, const typename Config::dtype* b_gate,
                const typename Config::dtype* b_up, typename Config::dtype* h, long long rows, long long d,
                long long hidden) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  let_second_start();
  if constexpr (Config::gated == "yes") {
    using C = GatedUp<Config>;
    using D = Dots<C, 2>;
    const GatedResults<C> results{b_gate, b_up, h, nullptr, nullptr, rows, hidden};
    D(x, {{w_gate, w_up}, d}, rows, hidden, d).run([] {}, results);
  } else {
    using C = OneWeight<PlainUp<Config>>;
    Dots<C, 1>(x, {{w_up}, d}, rows, hidden, d).run([] {}, Output<C>{b_up, nullptr, h, rows, hidden});
  }
}

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    mlp_dots_down(const typename Config::dtype* h, const typename Config::dtype* w_down,
                  const typename Config::dtype* b_down, typename Config::dtype* y, long long rows, long long hidden,
                  long long d_out) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using C = DotsDown<Config>;
  Dots<C, 1>(h, {{w_down}, hidden}, rows, d_out, hidden)
      .run([] { wait_for_first(); }, Output<C>{b_down, nullptr, y, rows, d_out});
}
