// SPDX-License-Identifier: Apache-2.0
#pragma once

// A warp's work on a stage of skinny.cu: warp_n columns of b (rows of bᵀ) times all rows of a, over its part of the
// stage's block of k, by mma, or for f32 with math=ieee by fused multiply-adds. Tiles lie in shared memory as in
// mma_tile.cuh.

#include "device/reduce.cuh"
#include "layout.cuh"
#include "mma_tile.cuh"

namespace tilewright::gemm {

template <class Config>
struct SkinnyMma;
template <class Config>
struct SkinnyFma;

template <bool kFirst, class First, class Second>
struct Either {
  using type = First;
};
template <class First, class Second>
struct Either<false, First, Second> {
  using type = Second;
};

template <class Config>
struct SkinnyGeometry {
  using T = typename Config::dtype;
  enum : bool { kByMma = !is_same<T, float> || Config::math == "tf32" };
  enum : int {
    kBlockM = Config::block_m,
    kBlockN = Config::block_n,
    kBlockK = Config::block_k,
    kWarpN = Config::warp_n,
    kWarpsN = kBlockN / kWarpN,
    kWarpsK = Config::num_warps / kWarpsN,
    kStages = Config::stages,
    kSplits = Config::split_k,
    kThreads = Config::num_warps * kWarpSize,
    kWarpBlockK = kBlockK / kWarpsK,
    // Pairs of rows of sums, which lanes with other columns write at the same time, are 8 banks apart.
    kOutPitch = kBlockN + 4,
  };
  static_assert(kBlockN % kWarpN == 0 && kWarpN % 16 == 0, "a block has whole warp tiles of whole fragments");
  static_assert(Config::num_warps % kWarpsN == 0, "parts of n have as many warps each");
  static_assert(kBlockK % (kWarpsK * 32 / static_cast<int>(sizeof(T))) == 0, "a warp has whole steps of k");
  static_assert((kWarpsK & (kWarpsK - 1)) == 0 && (kBlockK & (kBlockK - 1)) == 0, "places of warps differ by xor");
  static_assert(kStages >= 2, "one block of k is copied while another is multiplied");

  using OperandA = Operand<T, Layout<Config>::kMajorA>;
  using OperandB = Operand<T, Layout<Config>::kMajorB>;
  using Weights = MmaTile<T, Side::kA, OperandB::kKMajor, kBlockN, kBlockK>;
  using Activations = MmaTile<T, Side::kB, OperandA::kKMajor, kBlockM, kBlockK>;
  using Warp = typename Either<kByMma, SkinnyMma<Config>, SkinnyFma<Config>>::type;

  struct Stage {
    unsigned char weights[Weights::kBytes];
    unsigned char activations[Activations::kBytes];
  };
};

// A fragment of sums is 16 columns of c × 8 rows.
template <class Config>
struct SkinnyMma {
  using G = SkinnyGeometry<Config>;
  using T = typename G::T;
  using Weights = typename G::Weights;
  using Activations = typename G::Activations;
  enum : int {
    kOf16 = G::kWarpN / 16,
    kOf8 = G::kBlockM / 8,
    kSteps = G::kWarpBlockK / Weights::kStep,
  };
  static_assert(G::kBlockM % 8 == 0, "a block has whole fragments");
  static_assert(kOf8 == 1 || kOf8 % 2 == 0, "fragments of a come in pairs, or alone");
  static_assert(kOf8 > 1 || Activations::kTileExtent == Activations::kRows, "a lone fragment is of a k-major operand");

  int lane, part_n, part_k;
  int place_weights, place_activations;
  float sums[kOf16][kOf8][4];

  __device__ __forceinline__ explicit SkinnyMma(int thread)
      : lane(thread % kWarpSize), part_n(thread / kWarpSize % G::kWarpsN), part_k(thread / kWarpSize / G::kWarpsN) {
    place_weights = at_step<Weights, G::OperandB::kKMajor>(Weights::lane_place(part_n * G::kWarpN, lane));
    place_activations = at_step<Activations, G::OperandA::kKMajor>(Activations::lane_place(0, lane));
  }

  // A lane's place in the first step of the warp's part of k.
  template <class Tile, bool kKMajor>
  __device__ __forceinline__ int at_step(int place) const {
    const int step = part_k * kSteps;
    return kKMajor ? place ^ step * 32 : place + step * Tile::kStep * Tile::kRowBytes;
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (auto& row : sums) {
#pragma unroll
      for (auto& four : row) four[0] = four[1] = four[2] = four[3] = 0.0f;
    }
  }

  __device__ __forceinline__ void multiply(const typename G::Stage& stage) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      u32 weights[kOf16][4];
      u32 activations[kOf8][2];
#pragma unroll
      for (int i = 0; i < kOf16; ++i) Weights::load(weights[i], stage.weights, place_weights, i, step);
      load(activations, stage.activations, step);
#pragma unroll
      for (int i = 0; i < kOf16; ++i) {
#pragma unroll
        for (int j = 0; j < kOf8; ++j) mma<T>(sums[i][j], weights[i], activations[j]);
      }
    }
  }

  // Stores the warp's sums at the place of its part of k.
  __device__ __forceinline__ void put(float (&out)[G::kWarpsK][G::kBlockM][G::kOutPitch]) const {
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int i = 0; i < kOf16; ++i) {
#pragma unroll
      for (int j = 0; j < kOf8; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          out[part_k][j * 8 + t * 2 + e % 2][part_n * G::kWarpN + i * 16 + e / 2 * 8 + g] = sums[i][j][e];
        }
      }
    }
  }

 private:
  __device__ __forceinline__ void load(u32 (&to)[kOf8][2], const unsigned char* tile, int step) const {
    if constexpr (kOf8 == 1) {
      ptx::ldmatrix_x2(to[0], tile + (place_activations ^ step * 32));
      if constexpr (is_same<T, float>) {
#pragma unroll
        for (u32& element : to[0]) element = ptx::round_to_tf32(__builtin_bit_cast(float, element));
      }
    } else {
#pragma unroll
      for (int j = 0; j < kOf8; j += 2) {
        u32 four[4];
        Activations::load(four, tile, place_activations, j / 2, step);
        to[j][0] = four[0];
        to[j][1] = four[1];
        to[j + 1][0] = four[2];
        to[j + 1][1] = four[3];
      }
    }
  }
};

// Lane l has columns l % 8 + 8i of c, all rows, and a quarter of k: the units l / 8 + 4j, of 4 elements of k if b is
// k-major, else of one. 8 lanes that read together meet 8 groups of banks, or 32 lanes 32 banks.
template <class Config>
struct SkinnyFma {
  using G = SkinnyGeometry<Config>;
  using Weights = typename G::Weights;
  using Activations = typename G::Activations;
  enum : int {
    kOf8 = G::kWarpN / 8,
    kUnit = G::OperandB::kKMajor ? 4 : 1,
    kUnits = G::kWarpBlockK / kUnit / 4,
  };
  static_assert(G::OperandA::kKMajor, "a is read along k");
  static_assert(G::kWarpBlockK % (kUnit * 4) == 0, "quarters of a warp's part of k have as many units each");

  int lane, part_n, part_k;
  float sums[kOf8][G::kBlockM];

  __device__ __forceinline__ explicit SkinnyFma(int thread)
      : lane(thread % kWarpSize), part_n(thread / kWarpSize % G::kWarpsN), part_k(thread / kWarpSize / G::kWarpsN) {}

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (auto& row : sums) {
#pragma unroll
      for (float& sum : row) sum = 0.0f;
    }
  }

  __device__ __forceinline__ void multiply(const typename G::Stage& stage) {
#pragma unroll 2
    for (int unit = 0; unit < kUnits; ++unit) {
      const int k = part_k * G::kWarpBlockK + (unit * 4 + lane / 8) * kUnit;
      Vector<float, kUnit> weights[kOf8];
#pragma unroll
      for (int i = 0; i < kOf8; ++i) {
        const int column = part_n * G::kWarpN + lane % 8 + i * 8;
        const int place = G::OperandB::kKMajor ? Weights::place(column, k * 4) : Weights::place(k, column * 4);
        weights[i] = load_vector<kUnit>(reinterpret_cast<const float*>(stage.weights + place));
      }
#pragma unroll
      for (int row = 0; row < G::kBlockM; ++row) {
        const auto* from = stage.activations + Activations::place(row, k * 4);
        const auto activations = load_vector<kUnit>(reinterpret_cast<const float*>(from));
#pragma unroll
        for (int e = 0; e < kUnit; ++e) {
#pragma unroll
          for (int i = 0; i < kOf8; ++i) sums[i][row] = fmaf(weights[i][e], activations[e], sums[i][row]);
        }
      }
    }
  }

  __device__ __forceinline__ void put(float (&out)[G::kWarpsK][G::kBlockM][G::kOutPitch]) const {
#pragma unroll
    for (int i = 0; i < kOf8; ++i) {
#pragma unroll
      for (int row = 0; row < G::kBlockM; ++row) {
        float sum = sums[i][row];
        sum += __shfl_xor_sync(kFullMask, sum, 8);
        sum += __shfl_xor_sync(kFullMask, sum, 16);
        if (lane / 8 == row % 4) out[part_k][row][part_n * G::kWarpN + lane % 8 + i * 8] = sum;
      }
    }
  }
};

}  // namespace tilewright::gemm
