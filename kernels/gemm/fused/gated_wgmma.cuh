// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gated products by wgmma.cuh. However the weights lie, the copies make a tile of b half gates and, below them, half
// ups: sum i of a thread and its sum half of them further are the gate and the up of one column.

#include "device/activation.cuh"
#include "wgmma.cuh"

namespace tilewright::gemm {

// Results have half as many columns as sums.
template <class Config>
struct HalfSized : Plain<Config> {
  static constexpr int block_n = Config::block_n / 2;
};
template <class Config>
struct HalfStore : HalfSized<Config> {};
template <class Config>
struct Geometry<HalfStore<Config>> : Geometry<HalfSized<Config>> {
  static_assert(Config::block_n % 64 == 0, "half a tile has whole pieces of 32 columns");
  using Storage = typename Geometry<Config>::Storage;
};

// Copies gates and ups. Maps of interleaved weights see both in one row of 2k elements.
template <class Config>
struct GatedLoad {
  using G = Geometry<Config>;
  const TensorMap& gate;
  const TensorMap& up;
  i32 n, k;

  // If two blocks share the tile, each copies one half.
  __device__ __forceinline__ void operator()(unsigned char* stage, i32 column, i32 k_first, u64* full, u32 share,
                                             u16 mask) const {
    static_assert(G::kClusterM <= 2, "halves are copied whole");
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
      if (G::kClusterM == 2 && half != share) continue;
      unsigned char* const to = stage + half * (G::kBytesB / 2);
      const i32 x = half == 1 && Config::weights == "interleaved" ? k_first + k : k_first;
      const i32 y = half == 1 && Config::weights == "packed" ? column / 2 + n : column / 2;
      const TensorMap& map = half == 0 ? gate : up;
      if constexpr (G::kClusterM == 2) {
        ptx::tensor_load_multicast(to, map, x, y, full, mask);
      } else {
        ptx::tensor_load(to, map, x, y, full);
      }
    }
  }
};

template <class Config, bool kKeeps>
struct GatedTail {
  using G = Geometry<Config>;
  using T = typename G::T;
  using Out = TileStore<HalfStore<Config>>;
  enum : bool { kHasBias = Config::bias == "yes" };
  enum : int { kHalf = G::kSums / 2, kColumns = G::kBlockN / 2 };
  struct Ahead {
    Packed<T, 2> bias;
  };

  const TensorMap& map_y;
  const TensorMap& map_gate;
  const TensorMap& map_up;
  const T* bias_gate;
  const T* bias_up;
  i64 m, n;  // of the results
  int warpgroup, warp, lane;

  __device__ __forceinline__ Out out(const TensorMap& map) const {
    return {map, nullptr, nullptr, nullptr, m, n, warpgroup, warp, lane};
  }
  // The thread's pair in the tile's bias: first the gates', then the ups'.
  __device__ __forceinline__ int bias_place() const { return 2 * (warp * kWarpSize + lane); }

  __device__ __forceinline__ void prefetch(Ahead& ahead, i64, i64 column) const {
    if constexpr (kHasBias) {
      const int place = bias_place();
      const i64 here = column / 2 + place % kColumns;
      ahead.bias = {};
      if (place < G::kBlockN && here < n) {
        ahead.bias = load_packed<2>((place < kColumns ? bias_gate : bias_up) + here);
      }
    }
  }
  __device__ __forceinline__ void load(typename G::Storage& storage, Ahead& ahead, i64, i64) const {
    if constexpr (kHasBias) {
      if (bias_place() < G::kBlockN) store_vector(&storage.bias[warpgroup][bias_place()], unpack(ahead.bias));
    }
  }

  __device__ __forceinline__ void store(typename G::Storage& storage, const float (&sums)[G::kSlabs][G::kSums],
                                        const Ahead&, i64 row, i64 column) const {
    if constexpr (kHasBias) sync();
    float gates[G::kSlabs][kHalf], ups[G::kSlabs][kHalf];
#pragma unroll
    for (int i = 0; i < kHalf; i += 2) {
      float bias[2][2] = {};
      if constexpr (kHasBias) {
        const T* const at = &storage.bias[warpgroup][i / 4 * 8 + lane % 4 * 2];
        to_float(load_packed<2>(at), bias[0]);
        to_float(load_packed<2>(at + kColumns), bias[1]);
      }
#pragma unroll
      for (int slab = 0; slab < G::kSlabs; ++slab) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          gates[slab][i + j] = sums[slab][i + j] + bias[0][j];
          ups[slab][i + j] = sums[slab][kHalf + i + j] + bias[1][j];
        }
      }
    }
    if constexpr (kKeeps) {
      out(map_gate).store(storage, gates, {}, row, column / 2);
      out(map_up).store(storage, ups, {}, row, column / 2);
    }
#pragma unroll
    for (int slab = 0; slab < G::kSlabs; ++slab) {
#pragma unroll
      for (int i = 0; i < kHalf; ++i) gates[slab][i] = activate<Config, T>(gates[slab][i]) * ups[slab][i];
    }
    out(map_y).store(storage, gates, {}, row, column / 2);
  }

  __device__ __forceinline__ void sync() const { out(map_y).sync(); }
  __device__ __forceinline__ void drain() const { out(map_y).drain(); }
};

// The maps of kept results are read only if kKeeps.
template <class Config, bool kKeeps>
__device__ __forceinline__ void gated_wgmma(const TensorMap& map_a, const TensorMap& map_gate, const TensorMap& map_up,
                                            const TensorMap& map_y, const TensorMap& map_kept_gate,
                                            const TensorMap& map_kept_up, const typename Config::dtype* bias_gate,
                                            const typename Config::dtype* bias_up, float* partials, u32* counters,
                                            i64 m, i64 n, i64 k) {
  using C = LinearByMap<Config>;
  run_with<C>(
      map_a, GatedLoad<C>{map_gate, map_up, static_cast<i32>(n), static_cast<i32>(k)},
      [&](int warpgroup, int warp, int lane) {
        return GatedTail<C, kKeeps>{map_y, map_kept_gate, map_kept_up, bias_gate, bias_up, m, n, warpgroup, warp, lane};
      },
      partials, counters, m, 2 * n, k);
}

}  // namespace tilewright::gemm
