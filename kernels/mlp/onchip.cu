// SPDX-License-Identifier: Apache-2.0
// mlp for narrow rows on Hopper's tensor cores: h never leaves the chip. A block has 128 rows of x in shared memory,
// and goes through `hidden` by 64: from a stage of w_gate and w_up each warpgroup makes its 64 × 64 of h, and with a
// stage of w_down it adds to its 64 × d_out sums of y, in registers.
//
//   x, weights, y   address and row length are multiples of 16 bytes; d and d_out at most 256
//   biases          aligned to two elements
//
//   producer     x │ up 0 │ down 0 │ up 1 │ down 1 │ …                  two rings, by tensor copies
//   warpgroup 1  x · up 0 │ activates h 0          │ h 0 · down 0, x · up 1 │ activates h 1 …
//   warpgroup 2           │ x · up 0 of its rows   │ activates h 0          │ h 0 · down 0, x · up 1 …
//
// Each of two blocks of a cluster copies half of the weights to both.

#include "device/activation.cuh"
#include "device/ptx/wgmma_steps.cuh"
#include "gemm/fused/wgmma.cuh"
#include "wgmma_registers.cuh"

namespace tilewright::gemm {

template <class Config>
struct OnchipMlp {
  using T = typename Config::dtype;
  enum : bool { kGated = Config::gated == "yes", kHasBias = Config::bias == "yes" };
  enum : int {
    kWarpgroups = 2,
    kThreads = 128 * (1 + kWarpgroups),
    kRows = 64 * kWarpgroups,
    kHidden = 64,  // columns of h at a time: a row of 128 bytes
    kSteps = kHidden / 16,
    kParts = Config::block_d / 64,      // rows of x and of the first weights, 128 bytes each
    kUps = kHidden * (kGated ? 2 : 1),  // rows of the first weights
    kOut = Config::block_o,
    kCluster = Config::cluster_m,
    kBytesX = kRows * 128,
    kBytesUp = kUps * 128,
    kBytesDown = kOut * 128,
  };
};

// The geometry for TileStore: y is stored by pieces of 64 × 64.
template <class Config>
struct OnchipStore : Plain<LinearByMap<Config>> {
  static constexpr int block_m = 128, block_n = Config::block_o, block_k = 64, consumers = 2, pingpong = 0, stages = 1;
  static constexpr int split_k = 1, cluster_k = 1, cluster_m = 1, cluster_n = 1, group = 1;
};
template <class Config>
struct OnchipGeometry : OnchipStore<Config> {};
template <class Config>
struct Geometry<OnchipStore<Config>> : Geometry<OnchipGeometry<Config>> {
  using M = OnchipMlp<Config>;
  struct Storage {
    alignas(1024) unsigned char x[M::kParts][M::kBytesX];
    alignas(1024) unsigned char up[Config::up_stages][M::kParts][M::kBytesUp];
    alignas(1024) unsigned char down[Config::down_stages][M::kBytesDown];
    alignas(1024) unsigned char c[M::kWarpgroups][2][64 * 128];
    alignas(16) typename M::T bias[1][8];
    u64 x_full, x_empty;
    u64 up_full[Config::up_stages], up_empty[Config::up_stages];
    u64 down_full[Config::down_stages], down_empty[Config::down_stages];
  };
};

template <class Config>
struct OnchipMaps {
  const TensorMap& x;
  const TensorMap& gate;
  const TensorMap& up;
  const TensorMap& down;
  const TensorMap& y;
};

template <class Config>
using OnchipStorage = typename Geometry<OnchipStore<Config>>::Storage;

// The producer thread: copies x, and fills the rings of weights.
template <class Config>
__device__ __forceinline__ void onchip_produce(OnchipStorage<Config>& storage, const OnchipMaps<Config>& maps,
                                               i64 tiles, u32 chunks, u32 rank) {
  using M = OnchipMlp<Config>;
  // Copies a box of `rows` rows; each block of the cluster copies its part to all.
  const auto load = [&](unsigned char* to, const TensorMap& map, i32 x, i32 y, int rows, u64* full) {
    if constexpr (M::kCluster == 1) {
      ptx::tensor_load(to, map, x, y, full);
    } else {
      const int first = static_cast<int>(rank) * (rows / M::kCluster);
      ptx::tensor_load_multicast(to + first * 128, map, x, y + first, full, static_cast<u16>((1 << M::kCluster) - 1));
    }
  };
  Ring<Config::up_stages> ups;
  Ring<Config::down_stages> downs;
  u32 parity = 1;
  for (i64 tile = blockIdx.x / M::kCluster; tile < tiles; tile += gridDim.x / M::kCluster, parity ^= 1) {
    const i32 row = static_cast<i32>(tile * M::kCluster + rank) * M::kRows;
    ptx::mbarrier_wait(&storage.x_empty, parity);
    ptx::mbarrier_arrive_expect_tx(&storage.x_full, M::kParts * M::kBytesX);
#pragma unroll
    for (int part = 0; part < M::kParts; ++part) {
      ptx::tensor_load(storage.x[part], maps.x, part * 64, row, &storage.x_full);
    }
    for (u32 chunk = 0; chunk < chunks; ++chunk, ups.advance(), downs.advance()) {
      const i32 hidden = static_cast<i32>(chunk) * M::kHidden;
      u64* full = &storage.up_full[ups.stage];
      ptx::mbarrier_wait(&storage.up_empty[ups.stage], ups.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full, M::kParts * M::kBytesUp);
#pragma unroll
      for (int part = 0; part < M::kParts; ++part) {
        unsigned char* const to = storage.up[ups.stage][part];
        if constexpr (M::kGated) load(to, maps.gate, part * 64, hidden, M::kHidden, full);
        load(to + (M::kUps - M::kHidden) * 128, maps.up, part * 64, hidden, M::kHidden, full);
      }
      full = &storage.down_full[downs.stage];
      ptx::mbarrier_wait(&storage.down_empty[downs.stage], downs.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full, M::kBytesDown);
      load(storage.down[downs.stage], maps.down, hidden, 0, M::kOut, full);
    }
  }
}

template <class Config>
struct OnchipConsumer {
  using M = OnchipMlp<Config>;
  using T = typename M::T;
  using Out = TileStore<OnchipStore<Config>>;
  enum : u32 { kTurn = 1 + M::kWarpgroups };  // the first named barrier after those of the stores

  OnchipStorage<Config>& storage;
  const Out& out;
  const T* b_gate;
  const T* b_up;
  const T* b_down;
  i64 hidden;

  __device__ __forceinline__ int lane_column() const { return out.lane % 4 * 2; }
  __device__ __forceinline__ void bias(const T* from, i64 column, i64 end, float (&pair)[2]) const {
    Packed<T, 2> two{};
    if (column < end) two = load_packed<2>(from + column);
    to_float(two, pair);
  }
  // Arrives at the empty barriers of all blocks that copy into the stage.
  __device__ __forceinline__ void release(u64* empty) const {
    const int thread = out.warp * kWarpSize + out.lane;
    if constexpr (M::kCluster == 1) {
      if (thread == 0) ptx::mbarrier_arrive(empty);
    } else if (thread < M::kCluster) {
      ptx::mbarrier_arrive_cluster_relaxed(ptx::map_shared(empty, static_cast<u32>(thread)));
    }
  }

  // Makes the warpgroup's 64 × 64 of h from its sums of 64 hidden columns, as A of the next product: 16 columns a step.
  __device__ __forceinline__ void activate_to(u32 (&h)[M::kSteps][4], const float (&sums)[M::kUps / 2],
                                              i64 first) const {
    constexpr int kHalf = M::kHidden / 2;
#pragma unroll
    for (int step = 0; step < M::kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int group = step * 2 + i;
        const i64 column = first + group * 8 + lane_column();
        float gates[2] = {}, ups[2] = {};
        if constexpr (M::kHasBias) {
          if constexpr (M::kGated) bias(b_gate, column, hidden, gates);
          bias(b_up, column, hidden, ups);
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float pair[2];
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            const int at = group * 4 + half * 2 + j;
            const float up = sums[M::kUps / 2 - kHalf + at] + ups[j];
            if constexpr (M::kGated) {
              pair[j] = activate<Config, T>(sums[at] + gates[j]) * up;
            } else {
              pair[j] = activate<Config, T>(up);
            }
          }
          h[step][i * 2 + half] = __builtin_bit_cast(u32, from_float<T>(pair));
        }
      }
    }
  }

  // Starts the products of x and a chunk of the first weights, which has arrived.
  __device__ __forceinline__ void start_up(float (&sums)[M::kUps / 2], u32 stage) const {
#pragma unroll
    for (int part = 0; part < M::kParts; ++part) {
      const u64 x = ptx::matrix_descriptor(storage.x[part] + out.warpgroup * 64 * 128, 0, 8 * 128);
      const u64 up = ptx::matrix_descriptor(storage.up[stage][part], 0, 8 * 128);
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        ptx::wgmma<T, M::kUps, false, false>(sums, ptx::advance(x, static_cast<u32>(step * 32)),
                                             ptx::advance(up, static_cast<u32>(step * 32)), part > 0 || step > 0);
      }
    }
  }
  // Starts the products of h and a chunk of the second weights.
  __device__ __forceinline__ void start_down(float (&y)[M::kOut / 2], const u32 (&h)[M::kSteps][4], u32 stage,
                                             bool accumulate) const {
    const u64 down = ptx::matrix_descriptor(storage.down[stage], 0, 8 * 128);
#pragma unroll
    for (int step = 0; step < M::kSteps; ++step) {
      wgmma_registers_k_major<T, M::kOut>(y, h[step], ptx::advance(down, static_cast<u32>(step * 32)),
                                          accumulate || step > 0);
    }
  }

  // Warpgroups start their products in turns: one's products run while the other activates.
  __device__ __forceinline__ void await_turn() const {
    ptx::barrier_sync(kTurn + static_cast<u32>(out.warpgroup), M::kWarpgroups * 128);
    ptx::wgmma_fence();
  }
  __device__ __forceinline__ void pass_turn() const {
    ptx::wgmma_commit();
    ptx::barrier_arrive(kTurn + static_cast<u32>(1 - out.warpgroup), M::kWarpgroups * 128);
  }

  __device__ __forceinline__ void run(i64 tiles, u32 chunks, u32 rank) const {
    Ring<Config::up_stages> ups;
    Ring<Config::down_stages> downs;
    u32 parity = 0;
    if (out.warpgroup == 1) ptx::barrier_arrive(kTurn, M::kWarpgroups * 128);  // the first turn is the first's
    for (i64 tile = blockIdx.x / M::kCluster; tile < tiles; tile += gridDim.x / M::kCluster, parity ^= 1) {
      const i64 row = (tile * M::kCluster + rank) * M::kRows + out.warpgroup * 64;
      float sums[M::kUps / 2], y[1][M::kOut / 2];
      ptx::mbarrier_wait(&storage.x_full, parity);
      ptx::mbarrier_wait(&storage.up_full[ups.stage], ups.parity);
      await_turn();
      start_up(sums, ups.stage);
      pass_turn();
      u64* last_down = nullptr;
#pragma unroll 1
      for (u32 number = 0; number < chunks; ++number) {
        const bool is_last = number + 1 == chunks;
        ptx::wgmma_wait<0>();
        ptx::wgmma_settle(sums);
        release(&storage.up_empty[ups.stage]);
        ups.advance();
        if (last_down != nullptr) release(last_down);
        if (is_last && out.warp == 0 && out.lane == 0) ptx::mbarrier_arrive(&storage.x_empty);
        u32 h[M::kSteps][4];
        activate_to(h, sums, i64{number} * M::kHidden);
        ptx::mbarrier_wait(&storage.down_full[downs.stage], downs.parity);
        if (!is_last) ptx::mbarrier_wait(&storage.up_full[ups.stage], ups.parity);
        await_turn();
        start_down(y[0], h, downs.stage, number > 0);
        if (!is_last) start_up(sums, ups.stage);
        pass_turn();
        last_down = &storage.down_empty[downs.stage];
        downs.advance();
      }
      ptx::wgmma_wait<0>();
      ptx::wgmma_settle(y[0]);
      release(last_down);
      if constexpr (M::kHasBias) {
#pragma unroll
        for (int i = 0; i < M::kOut / 2; i += 4) {
          float pair[2];
          bias(b_down, i * 2 + lane_column(), out.n, pair);
#pragma unroll
          for (int j = 0; j < 4; ++j) y[0][i + j] += pair[j % 2];
        }
      }
      out.store(storage, y, {}, row, 0);
    }
    out.drain();
  }
};

template <class Config>
__device__ __forceinline__ void onchip_mlp(const OnchipMaps<Config>& maps, const typename Config::dtype* b_gate,
                                           const typename Config::dtype* b_up, const typename Config::dtype* b_down,
                                           i64 rows, i64 hidden, i64 d_out) {
  using M = OnchipMlp<Config>;
  auto& storage = *shared_storage<OnchipStorage<Config>>();
  const u32 rank = M::kCluster > 1 ? ptx::cluster_rank() : 0;
  const int thread = static_cast<int>(threadIdx.x);
  const int warpgroup = __shfl_sync(kFullMask, thread / 128, 0);
  if (thread == 0) {
    ptx::mbarrier_init(&storage.x_full, 1);
    ptx::mbarrier_init(&storage.x_empty, M::kWarpgroups);
    for (int i = 0; i < Config::up_stages; ++i) {
      ptx::mbarrier_init(&storage.up_full[i], 1);
      ptx::mbarrier_init(&storage.up_empty[i], M::kWarpgroups * M::kCluster);
    }
    for (int i = 0; i < Config::down_stages; ++i) {
      ptx::mbarrier_init(&storage.down_full[i], 1);
      ptx::mbarrier_init(&storage.down_empty[i], M::kWarpgroups * M::kCluster);
    }
    ptx::fence_mbarrier_init();
  }
  if constexpr (M::kCluster > 1) {
    ptx::cluster_sync();
  } else {
    __syncthreads();
  }
  const i64 tiles = ceil_div(rows, i64{M::kRows} * M::kCluster);  // counted in clusters
  const u32 chunks = static_cast<u32>(ceil_div(hidden, i64{M::kHidden}));
  if (warpgroup == 0) {
    ptx::release_registers<24>();
    if (thread == 0) onchip_produce<Config>(storage, maps, tiles, chunks, rank);
    __syncwarp();
  } else {
    ptx::acquire_registers<240>();
    const TileStore<OnchipStore<Config>> out{
        maps.y, nullptr, nullptr, nullptr, rows, d_out, warpgroup - 1, thread % 128 / kWarpSize, thread % kWarpSize};
    OnchipConsumer<Config>{storage, out, b_gate, b_up, b_down, hidden}.run(tiles, chunks, rank);
  }
  if constexpr (M::kCluster > 1) ptx::cluster_sync();
}

}  // namespace tilewright::gemm

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::OnchipMlp<Config>::kThreads, 1)
    mlp_onchip_gated(const __grid_constant__ tilewright::TensorMap map_x,
                     const __grid_constant__ tilewright::TensorMap map_gate,
                     const __grid_constant__ tilewright::TensorMap map_up,
                     const __grid_constant__ tilewright::TensorMap map_down,
                     const __grid_constant__ tilewright::TensorMap map_y, const typename Config::dtype* b_gate,
                     const typename Config::dtype* b_up, const typename Config::dtype* b_down, long long rows,
                     long long hidden, long long d_out) {
  tilewright::gemm::onchip_mlp<Config>({map_x, map_gate, map_up, map_down, map_y}, b_gate, b_up, b_down, rows, hidden,
                                       d_out);
}

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::OnchipMlp<Config>::kThreads, 1)
    mlp_onchip(const __grid_constant__ tilewright::TensorMap map_x,
               const __grid_constant__ tilewright::TensorMap map_up,
               const __grid_constant__ tilewright::TensorMap map_down,
               const __grid_constant__ tilewright::TensorMap map_y, const typename Config::dtype* b_up,
               const typename Config::dtype* b_down, long long rows, long long hidden, long long d_out) {
  tilewright::gemm::onchip_mlp<Config>({map_x, map_up, map_up, map_down, map_y}, nullptr, b_up, b_down, rows, hidden,
                                       d_out);
}
