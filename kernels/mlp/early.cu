// SPDX-License-Identifier: Apache-2.0
//
// mlp on Hopper's tensor cores for few rows, whose time is that of reading the weights: as wgmma.cu, but memory does
// not idle between the products. The second kernel copies its first weights before it waits for the rows of the first.
// With Config::ahead the first kernel prefetches them into L2 once all of its own weights are in flight.
//
//   x, w_gate, w_up, w_down, y   address and row length are multiples of 16 bytes, and so are h's
//   biases                       aligned to two elements

#include "device/ptx/bulk_prefetch.cuh"
#include "wgmma.cu"

namespace tilewright::gemm {

template <class Config>
struct EarlyUp : GatedUp<Config> {};

// Copies the first product's weights; after its last copy, L2 prefetches the first weights of the second.
template <class Config>
struct EarlyLoad : GatedLoad<Config> {
  using T = typename Config::dtype;
  const T* w_down;
  i64 hidden, d_out;

  // One thread of each block calls: prefetches Config::ahead blocks of k of each part of some of the rows.
  __device__ __forceinline__ void ask_ahead() const {
    constexpr int kBlock = 64;
    const u32 blocks = static_cast<u32>(ceil_div(hidden, i64{kBlock}));
    for (i64 row = blockIdx.x; row < d_out; row += gridDim.x) {
      for (u32 split = 0; split < Config::down_split_k; ++split) {
        const SplitRange range = split_range<Config::down_split_k>(blocks, split);
        const i64 first = i64{range.first} * kBlock;
        const i64 count = min(i64{min(range.count, u32{Config::ahead})} * kBlock, hidden - first);
        if (count > 0) ptx::bulk_prefetch(w_down + row * hidden + first, static_cast<u32>(count * sizeof(T)));
      }
    }
  }
};

template <class Config>
__device__ __forceinline__ void produce_with(typename Geometry<Config>::Storage& storage, const TensorMap& map_a,
                                             const EarlyLoad<Config>& load_b, Schedule<Config> schedule) {
  produce_with<Config, GatedLoad<Config>>(storage, map_a, load_b, schedule);
  if constexpr (Config::ahead > 0) load_b.ask_ahead();
}

template <class Config>
struct EarlyDown : WgmmaDown<Config> {
  static constexpr bool kAsksEarly = true;
};

// The producer thread: fills the ring, tile after tile. Only rows of a wait for the kernel before to end.
template <class Config, class LoadB>
requires(Config::kAsksEarly) __device__ __forceinline__
    void produce_with(typename Geometry<Config>::Storage& storage, const TensorMap& map_a, const LoadB& load_b,
                      Schedule<Config> schedule) {
  using G = Geometry<Config>;
  static_assert(G::kClusterN == 1, "a block copies its rows of a for itself");
  u16 column_mask = 0;
#pragma unroll
  for (int i = 0; i < G::kClusterM; ++i) column_mask |= static_cast<u16>(1u << (schedule.rank_n * G::kClusterM + i));
  const auto first_k = [](const auto& work, u32 block) {
    return static_cast<i32>(work.range.first + block) * G::kBlockK;
  };
  const auto ask_for_b = [&](const auto& work, u32 block, u32 stage) {
    u64* const full = &storage.full[stage];
    ptx::mbarrier_arrive_expect_tx(full, G::kStageBytes);
    load_b(storage.b[stage], static_cast<i32>(work.column), first_k(work, block), full, schedule.rank_m, column_mask);
  };
  // Start the copies of b for the first tile's stages.
  u32 ahead = 0;
  if (!schedule.done()) {
    const auto work = schedule.work();
    ahead = min(work.range.count, static_cast<u32>(G::kStages));
    for (u32 block = 0; block < ahead; ++block) ask_for_b(work, block, block);
  }
  ptx::grid_dependency_wait();
  Ring<G::kStages> ring;
  for (; !schedule.done(); schedule.skip(1)) {
    const auto work = schedule.work();
    for (u32 block = 0; block < work.range.count; ++block, ring.advance()) {
      if (ahead > 0) {
        --ahead;
      } else {
        ptx::mbarrier_wait(&storage.empty[ring.stage], ring.parity ^ 1);
        ask_for_b(work, block, ring.stage);
      }
      load_tile<Config, false, G::kBlockM, 1>(storage.a[ring.stage], map_a, static_cast<i32>(work.row),
                                              first_k(work, block), &storage.full[ring.stage], 0, 0);
    }
  }
}

}  // namespace tilewright::gemm

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::Geometry<tilewright::gemm::LinearByMap<Config>>::kThreads, 1)
    mlp_early_gated(const __grid_constant__ tilewright::TensorMap map_x,
                    const __grid_constant__ tilewright::TensorMap map_gate,
                    const __grid_constant__ tilewright::TensorMap map_up,
                    const __grid_constant__ tilewright::TensorMap map_h, const typename Config::dtype* b_gate,
                    const typename Config::dtype* b_up, const typename Config::dtype* w_down, float* partials,
                    unsigned* counters, long long rows, long long d, long long hidden, long long d_out) {
  using namespace tilewright::gemm;
  using C = LinearByMap<EarlyUp<Config>>;
  let_second_start();
  run_with<C>(
      map_x, EarlyLoad<C>{{map_gate, map_up, static_cast<int>(hidden), static_cast<int>(d)}, w_down, hidden, d_out},
      [&](int warpgroup, int warp, int lane) {
        return GatedTail<C, false>{map_h, map_h, map_h, b_gate, b_up, rows, hidden, warpgroup, warp, lane};
      },
      partials, counters, rows, 2 * hidden, d);
}

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::Geometry<tilewright::gemm::EarlyDown<Config>>::kThreads, 1)
    mlp_early_down(const __grid_constant__ tilewright::TensorMap map_h,
                   const __grid_constant__ tilewright::TensorMap map_down,
                   const __grid_constant__ tilewright::TensorMap map_y, const typename Config::dtype* b_down,
                   long long rows, long long hidden, long long d_out) {
  using namespace tilewright::gemm;
  using C = EarlyDown<Config>;
  run_with<C>(
      map_h, PlainLoad<C>{map_down},
      [&](int warpgroup, int warp, int lane) {
        return TileStore<C>{map_y, b_down, nullptr, nullptr, rows, d_out, warpgroup, warp, lane};
      },
      nullptr, nullptr, rows, d_out, hidden);
}
