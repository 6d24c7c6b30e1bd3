// SPDX-License-Identifier: Apache-2.0
//
// gemm_dropout on Hopper's tensor cores: gemm/wgmma.cu with another end. What is kept depends on places alone: a thread works
// it out while the tensor cores multiply, a bit for each of its sums, and so the random numbers take no time.
//
//   a, b, c, residual   a multiple of 16 bytes in address and row length
//   bias                an address of two elements
//
// A thread has two columns of a row and of the row 8 below. A Philox gives four columns of one row: of two neighbouring lanes
// the even one takes the upper row, the odd one the lower, and they exchange their bits at the end.

#include "device/dropout.cuh"
#include "gemm/fused/addends.cuh"

namespace tilewright::gemm {

// Which of a thread's sums are kept: four bits a step, in a queue that moves down.
template <class Config>
struct Kept {
  using G = Geometry<Config>;
  enum : int {
    kGroups = G::kSums / 4,
    kSteps = G::kSlabs * kGroups,
    kWords = (kSteps + 7) / 8,
    kFirstBit = kWords * 32 - kSteps * 4,  // where the queue's first step is when all are in it
  };

  u32 words[kWords];
  int steps;

  __device__ __forceinline__ void push(u32 bits) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) words[i] = __funnelshift_r(words[i], i + 1 < kWords ? words[i + 1] : bits, 4);
    ++steps;
  }

  // The next step, of the warpgroup's rows from `row` and columns from `column`.
  __device__ __forceinline__ void step(const Dropout& dropout, i64 row, i64 column, int warp, int lane) {
    const int slab = steps / kGroups, group = steps % kGroups;
    float ones[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    dropout.apply<4>(ones, static_cast<u64>(row + slab * G::kSlabRows + warp * 16 + lane / 4 + lane % 2 * 8),
                     static_cast<u64>(column + group * 8 + lane % 4 / 2 * 4));
    u32 bits = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) bits |= ones[i] != 0.0f ? 1u << i : 0u;
    push(bits);
  }

  // Afterwards bit 0 and 1 of a step are those of the thread's columns: in `words` of the upper row, in `lower` of the other.
  __device__ __forceinline__ void exchange(u32 (&lower)[kWords], int lane) {
    const bool is_odd = lane % 2 != 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const u32 own = words[i], other = __shfl_xor_sync(kFullMask, own, 1);
      words[i] = is_odd ? other >> 2 : own;
      lower[i] = is_odd ? own >> 2 : other;
    }
  }
};

template <class Config>
struct DropoutTail {
  using G = Geometry<Config>;
  using From = TileStore<Config>;
  enum : int { kStepsOfStage = 2 };
  struct Ahead {
    typename From::Ahead added;
    Kept<Config> kept;
  };

  From from;  // what is added
  Dropout dropout;
  float p;

  __device__ __forceinline__ void prefetch(Ahead& ahead, i64 row, i64 column) const {
    from.prefetch(ahead.added, row, column);
    ahead.kept.steps = 0;
  }
  __device__ __forceinline__ void during(Ahead& ahead, i64 row, i64 column) const {
#pragma unroll 1
    for (int i = 0; i < kStepsOfStage && ahead.kept.steps < Kept<Config>::kSteps; ++i) {
      ahead.kept.step(dropout, row, column, from.warp, from.lane);
    }
  }
  __device__ __forceinline__ void load(typename G::Storage& storage, Ahead& ahead, i64 row, i64 column) const {
    from.load(storage, ahead.added, row, column);
#pragma unroll 1
    while (ahead.kept.steps < Kept<Config>::kSteps) ahead.kept.step(dropout, row, column, from.warp, from.lane);
  }

  __device__ __forceinline__ void store(typename G::Storage& storage, float (&sums)[G::kSlabs][G::kSums], Ahead& ahead,
                                        i64 row, i64 column) const {
    using E = Epilogue<Config>;
    if constexpr (E::kHasBias) sync();
    u32 lower[Kept<Config>::kWords];
    ahead.kept.exchange(lower, from.lane);
    const float scale = p < 1.0f ? 1.0f / (1.0f - p) : 0.0f;
    const Addends<Config> added{from, storage, ahead.added, row, column};
    for_each_pair<Config>(sums, [&](int slab, int group, int half, float* pair) {
      float bias[2] = {}, residual[2] = {};
      if constexpr (E::kHasBias) added.bias(group, bias);
      if constexpr (E::kHasResidual) added.residual(slab, group, half, residual);
      const int bit = Kept<Config>::kFirstBit + (slab * Kept<Config>::kGroups + group) * 4;
      const u32 kept = (half == 0 ? ahead.kept.words[bit / 32] : lower[bit / 32]) >> bit % 32;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float value = activate<Config, typename G::T>(pair[i] + bias[i]);
        pair[i] = ((kept >> i & 1) != 0 ? value * scale : 0.0f) + residual[i];
      }
    });
    const TileStore<Plain<Config>> out{from.map, nullptr,        nullptr,   from.c,   from.m,
                                       from.n,   from.warpgroup, from.warp, from.lane};
    out.store(storage, sums, {}, row, column);
  }

  __device__ __forceinline__ void sync() const { from.sync(); }
  __device__ __forceinline__ void drain() const { from.drain(); }
};

}  // namespace tilewright::gemm

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::Geometry<tilewright::gemm::LinearByMap<Config>>::kThreads, 1)
    gemm_dropout_wgmma(const __grid_constant__ tilewright::TensorMap map_a,
                       const __grid_constant__ tilewright::TensorMap map_b,
                       const __grid_constant__ tilewright::TensorMap map_c, const typename Config::dtype* bias,
                       const typename Config::dtype* residual, typename Config::dtype* c, float* partials,
                       unsigned* counters, long long m, long long n, long long k, float p, unsigned long long seed,
                       unsigned long long offset) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using C = LinearByMap<Config>;
  run_with<C>(
      map_a, PlainLoad<C>{map_b},
      [&](int warpgroup, int warp, int lane) {
        return DropoutTail<C>{{map_c, bias, residual, c, m, n, warpgroup, warp, lane}, Dropout(p, seed, offset), p};
      },
      partials, counters, m, n, k);
}
