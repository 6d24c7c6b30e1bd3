// SPDX-License-Identifier: Apache-2.0
//
// gemm_dropout on Hopper's tensor cores: gemm/wgmma.cu with another end. What is kept depends on places alone: a thread works it
// out while the tensor cores multiply, a bit for each of its sums.
//
//   a, b, c, residual   a multiple of 16 bytes in address and row length
//   bias                an address of two elements
//
// A thread has two columns of a row and of the row 8 below. A Philox gives four columns of one row: of two neighbouring lanes
// the even one takes the upper row, the odd one the lower, and they exchange their bits at the end.
//
// A warp waits at each product until the tensor cores take it. So a Philox is cut in four, a part behind each product of a stage;
// behind the last one it would be waited for. Where stages are few the rest comes at the end, four at a time.

#include "device/philox.cuh"
#include "gemm/fused/addends.cuh"

namespace tilewright::gemm {

// What is kept of four columns, by the definition in device/dropout.cuh: Philox4x32-10 (device/philox.cuh), in four parts.
struct Draw {
  u32 least_word;  // that keeps an element; for p = 1 the scale does its part
  float scale;
  u64 seed, offset;

  __device__ __forceinline__ Draw(float p, u64 seed_, u64 offset_)
      : least_word(p < 1.0f ? static_cast<u32>(__float2int_rz(ceilf(p * 0x1p24f))) << 8 : ~0u),
        scale(p < 1.0f ? 1.0f / (1.0f - p) : 0.0f),
        seed(seed_),
        offset(offset_) {}

  __device__ __forceinline__ PhiloxWords begin(u32 row, u32 group) const {
    return {{group, row, static_cast<u32>(offset), static_cast<u32>(offset >> 32)}};
  }
  template <int kFirst, int kEnd>
  __device__ __forceinline__ void rounds(PhiloxWords& words) const {
    constexpr u32 kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
    constexpr u32 kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
#pragma unroll
    for (u32 round = kFirst; round < kEnd; ++round) {
      const u32 key0 = static_cast<u32>(seed) + round * kWeyl0, key1 = static_cast<u32>(seed >> 32) + round * kWeyl1;
      words = {{__umulhi(kMultiplier1, words[2]) ^ words[1] ^ key0, kMultiplier1 * words[2],
                __umulhi(kMultiplier0, words[0]) ^ words[3] ^ key1, kMultiplier0 * words[0]}};
    }
  }
  __device__ __forceinline__ u32 bits(const PhiloxWords& words) const {
    u32 kept = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) kept |= words[i] >= least_word ? 1u << i : 0u;
    return kept;
  }
};

// Which of a thread's sums are kept: four bits a step, a step being 8 columns of a slab, in a queue that moves down.
template <class Config>
struct Kept {
  using G = Geometry<Config>;
  enum : int {
    kGroups = G::kSums / 4,
    kSteps = G::kSlabs * kGroups,
    kWords = (kSteps + 7) / 8,
    kFirstBit = kWords * 32 - kSteps * 4,  // where the queue's first step is when all are in it
    kAtOnce = 4,
  };
  static_assert(kSteps % kAtOnce == 0, "what is left goes by fours");

  u32 words[kWords];
  int steps;
  PhiloxWords drawn;  // of the next step

  __device__ __forceinline__ void push(u32 bits) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) words[i] = __funnelshift_r(words[i], i + 1 < kWords ? words[i + 1] : bits, 4);
    ++steps;
  }

  // `row` and `group` are where the thread begins.
  __device__ static __forceinline__ PhiloxWords begin(const Draw& draw, u32 row, u32 group, int step) {
    return draw.begin(row + static_cast<u32>(step / kGroups * G::kSlabRows),
                      group + static_cast<u32>(step % kGroups * 2));
  }
  // Part 0 to 3 of the next step.
  template <int kPart>
  __device__ __forceinline__ void part(const Draw& draw, u32 row, u32 group) {
    if (steps >= kSteps) return;
    if constexpr (kPart == 0) drawn = begin(draw, row, group, steps);
    draw.template rounds<kPart * 3, (kPart < 3 ? kPart * 3 + 3 : 10)>(drawn);
    if constexpr (kPart == 3) push(draw.bits(drawn));
  }
  __device__ __forceinline__ void rest(const Draw& draw, u32 row, u32 group) {
    const auto several = [&](auto count) {
      constexpr int kCount = decltype(count)::kStep;
      PhiloxWords all[kCount];
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        all[i] = begin(draw, row, group, steps + i);
        draw.template rounds<0, 10>(all[i]);
      }
#pragma unroll
      for (int i = 0; i < kCount; ++i) push(draw.bits(all[i]));
    };
#pragma unroll 1
    while (steps % kAtOnce != 0) several(StepNumber<1>{});
#pragma unroll 1
    while (steps < kSteps) several(StepNumber<kAtOnce>{});
  }

  // Afterwards bits 0 and 1 of a step are those of the thread's columns: in `words` of the upper row, in `lower` of the other.
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
  using K = Kept<Config>;
  using From = TileStore<Config>;
  struct Ahead {
    typename From::Ahead added;
    K kept;
    u32 row, group;  // where the thread draws
  };

  From from;  // what is added
  Draw draw;

  __device__ __forceinline__ void prefetch(Ahead& ahead, i64 row, i64 column) const {
    from.prefetch(ahead.added, row, column);
    ahead.kept.steps = 0;
    ahead.row = static_cast<u32>(row) + static_cast<u32>(from.warp * 16 + from.lane / 4 + from.lane % 2 * 8);
    ahead.group = static_cast<u32>(column / 4) + static_cast<u32>(from.lane % 4 / 2);
  }
  template <int kStep>
  __device__ __forceinline__ void during(Ahead& ahead) const {
    static_assert(G::kSteps == 4, "a part a step");
    ahead.kept.template part<kStep>(draw, ahead.row, ahead.group);
  }
  __device__ __forceinline__ void load(typename G::Storage& storage, Ahead& ahead, i64 row, i64 column) const {
    from.load(storage, ahead.added, row, column);
    ahead.kept.rest(draw, ahead.row, ahead.group);
  }

  __device__ __forceinline__ void store(typename G::Storage& storage, float (&sums)[G::kSlabs][G::kSums], Ahead& ahead,
                                        i64 row, i64 column) const {
    using E = Epilogue<Config>;
    if constexpr (E::kHasBias) sync();
    u32 lower[K::kWords];
    ahead.kept.exchange(lower, from.lane);
    const Addends<Config> added{from, storage, ahead.added, row, column};
    for_each_pair<Config>(sums, [&](int slab, int group, int half, float* pair) {
      float bias[2] = {}, residual[2] = {};
      if constexpr (E::kHasBias) added.bias(group, bias);
      if constexpr (E::kHasResidual) added.residual(slab, group, half, residual);
      const int bit = K::kFirstBit + (slab * K::kGroups + group) * 4;
      const u32 kept = (half == 0 ? ahead.kept.words[bit / 32] : lower[bit / 32]) >> bit % 32;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float value = activate<Config, typename G::T>(pair[i] + bias[i]);
        pair[i] = ((kept >> i & 1) != 0 ? value * draw.scale : 0.0f) + residual[i];
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
        return DropoutTail<C>{{map_c, bias, residual, c, m, n, warpgroup, warp, lane}, Draw(p, seed, offset)};
      },
      partials, counters, m, n, k);
}
