// SPDX-License-Identifier: Apache-2.0
//
// mlp for few rows, m ≤ 64, whose time is that of reading the weights: two products by gemm/fused/skinny.cuh. The
// second prefetches its first weights before it waits for the rows. sm_80 and later; with clusters sm_90.

#include "gemm/fused/gated_skinny.cuh"
#include "products.cuh"

namespace tilewright::gemm {

template <class Config>
struct SkinnyDown : Down<Config> {
  static constexpr int split_k = Config::down_split_k, cluster = Config::down_cluster;
};

}  // namespace tilewright::gemm

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::SkinnyGeometry<tilewright::gemm::PlainUp<Config>>::kThreads,
                                  Config::blocks)
    mlp_skinny_up(const typename Config::dtype* x, const typename Config::dtype* w_gate,
                  const typename Config::dtype* w_up, const typename Config::dtype* b_gate,
                  const typename Config::dtype* b_up, typename Config::dtype* h, float* partials, unsigned* counters,
                  long long rows, long long d, long long hidden) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  let_second_start();
  if constexpr (Config::gated == "yes") {
    using C = GatedUp<Config>;
    gated_skinny<C>(x, {w_gate, w_up, d}, {b_gate, b_up, h, nullptr, nullptr, rows, hidden}, partials, counters, rows,
                    hidden, d);
  } else {
    using C = PlainUp<Config>;
    using G = SkinnyGeometry<C>;
    const u32 pieces = static_cast<u32>(ceil_div(hidden, i64{G::kBlockN})) * G::kSplits;
    SkinnyCopies<C> copies(x, w_up, rows, hidden, d, pieces, static_cast<int>(threadIdx.x));
    skinny_block<C>(copies, {b_up, nullptr, h, rows, hidden}, partials, counters, hidden, d);
  }
}

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::SkinnyGeometry<tilewright::gemm::SkinnyDown<Config>>::kThreads,
                                  Config::blocks)
    mlp_skinny_down(const typename Config::dtype* h, const typename Config::dtype* w_down,
                    const typename Config::dtype* b_down, typename Config::dtype* y, float* partials,
                    unsigned* counters, long long rows, long long hidden, long long d_out) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using C = SkinnyDown<Config>;
  using G = SkinnyGeometry<C>;
  const int thread = static_cast<int>(threadIdx.x);
  const u32 pieces = static_cast<u32>(ceil_div(d_out, i64{G::kBlockN})) * G::kSplits;

  // Prefetch the weights of all stages but one into L2.
  if (blockIdx.x < pieces) {
    const SkinnyPiece<C> piece(blockIdx.x, static_cast<u32>(ceil_div(hidden, i64{G::kBlockK})));
    constexpr int kLine = 128 / static_cast<int>(sizeof(typename G::T)), kLines = (G::kStages - 1) * G::kBlockK / kLine;
    for (int i = thread; i < G::kBlockN * kLines; i += G::kThreads) {
      const i64 row = i64{piece.tile} * G::kBlockN + i / kLines;
      const i64 column = i64{piece.blocks.first} * G::kBlockK + i % kLines * kLine;
      if (row < d_out && column < hidden) ptx::prefetch_l2(w_down + row * hidden + column);
    }
  }
  wait_for_first();
  SkinnyCopies<C> copies(h, w_down, rows, d_out, hidden, pieces, thread);
  skinny_block<C>(copies, {b_down, nullptr, y, rows, d_out}, partials, counters, d_out, hidden);
}
