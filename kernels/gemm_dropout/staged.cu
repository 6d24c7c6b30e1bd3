// SPDX-License-Identifier: Apache-2.0
//
// gemm_dropout with a residual on Hopper's tensor cores, the residual ahead: gemm/fused/staged.cuh with the mask of
// wgmma.cu.

#include "gemm/fused/staged.cuh"
#include "wgmma.cu"

namespace tilewright::gemm {

template <class Config>
struct Masked : Linear<Config> {};

// What the tile's groups of columns share of Philox.
template <class Config>
struct OwnOfStaged<Masked<Config>> {
  alignas(16) PhiloxGrid::Group groups[Config::block_n / 4];
};

template <class Config>
struct StagedDropoutTail {
  using G = Geometry<Config>;
  using T = typename G::T;
  struct Ahead {
    typename StagedTail<Config>::Ahead bias;
    Kept<Config> kept;
  };

  StagedTail<Config> from;  // the bias
  Draw draw;

  __device__ __forceinline__ void prefetch(Ahead& ahead, i64 row, i64 column) const {
    from.prefetch(ahead.bias, row, column);
    if (draws_first()) draw_tile(ahead, row, column);
  }
  __device__ __forceinline__ void load(Ahead& ahead, i64 row, i64 column) const {
    from.load(ahead.bias, row, column);
    if (!draws_first()) draw_tile(ahead, row, column);
  }
  __device__ __forceinline__ void finish(const Ahead& ahead, float (&four)[4], const float (&residual)[4], int slab,
                                         int group) const {
    float of_bias[2] = {};
    if constexpr (Epilogue<Config>::kHasBias) from.bias_of(ahead.bias, group, of_bias);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float value = activate<Config, T>(four[i] + of_bias[i % 2]) * draw.scale;
      const u32 kept = ahead.kept.of(slab, group, i / 2);
      four[i] = ((kept >> i % 2 & 1) != 0 ? value : 0.0f) + residual[i];
    }
  }

 private:
  // As in DropoutTail.
  __device__ __forceinline__ bool draws_first() const {
    const int of_tile = G::kPingPong ? 0 : from.warpgroup;
    return of_tile + Config::draw_first >= G::kUsersOfStage;
  }

  __device__ __forceinline__ void draw_tile(Ahead& ahead, i64 row, i64 column) const {
    auto& groups = from.storage.own[from.warpgroup].groups;
    from.sync();  // the others have read the last tile's
    if (from.thread() < Kept<Config>::kGroupsOfTile) {
      const PhiloxGrid::Group group = draw.grid.group(static_cast<u32>(column / 4) + static_cast<u32>(from.thread()));
      *reinterpret_cast<uint4*>(&groups[from.thread()]) = make_uint4(group[0], group[1], group[2], group[3]);
    }
    from.sync();
    ahead.kept.draw(draw, groups, row, from.warp, from.lane);
  }
};

}  // namespace tilewright::gemm

template <class Config>
__global__ void __launch_bounds__(
    tilewright::gemm::Geometry<tilewright::gemm::Staged<tilewright::gemm::Masked<Config>>>::kThreads, 1)
    gemm_dropout_staged(const __grid_constant__ tilewright::TensorMap map_a,
                        const __grid_constant__ tilewright::TensorMap map_b,
                        const __grid_constant__ tilewright::TensorMap map_residual,
                        const __grid_constant__ tilewright::TensorMap map_c, const typename Config::dtype* bias,
                        const typename Config::dtype* residual, long long m, long long n, long long k, float p,
                        unsigned long long seed, unsigned long long offset) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using C = Staged<Masked<Config>>;
  run_staged<C>(map_a, map_b, map_residual, map_c, residual, m, n, k,
                [&](auto& storage, int warpgroup, int warp, int lane) {
                  return StagedDropoutTail<C>{{storage, bias, n, warpgroup, warp, lane}, Draw(p, seed, offset)};
                });
}
