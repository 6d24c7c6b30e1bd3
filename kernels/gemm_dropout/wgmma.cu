// SPDX-License-Identifier: Apache-2.0
//
// gemm_dropout on Hopper's tensor cores: gemm/wgmma.cu with another epilogue. The mask depends on places alone: a
// thread draws a bit for each of its sums before its tile's products, or once they are issued (draw_first), by four
// Philoxes with one key at a time.
//
//   a, b, c, residual   address and row length are multiples of 16 bytes
//   bias                aligned to two elements
//
// A thread has two columns of a row and of the row 8 below. A Philox gives four columns of one row: of two neighbouring
// lanes the even one takes the upper row, the odd one the lower, and they exchange their bits.

#include "device/philox_grid.cuh"
#include "device/vector.cuh"
#include "gemm/fused/addends.cuh"

namespace tilewright::gemm {

// The mask, by the definition of device/dropout.cuh.
struct Draw {
  u32 least_word;  // that keeps an element; for p = 1 the scale drops the rest
  float scale;
  PhiloxGrid grid;

  __device__ __forceinline__ Draw(float p, u64 seed, u64 offset)
      : least_word(p < 1.0f ? static_cast<u32>(__float2int_rz(ceilf(p * 0x1p24f))) << 8 : ~0u),
        scale(p < 1.0f ? 1.0f / (1.0f - p) : 0.0f),
        grid(seed, offset) {}

  __device__ __forceinline__ u32 bits(const PhiloxWords& words) const {
    u32 kept = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) kept |= words[i] >= least_word ? 1u << i : 0u;
    return kept;
  }
};

// A thread's mask: four bits a step, a step being 8 columns of a slab, in a queue that shifts down.
template <class Config>
struct Kept {
  using G = Geometry<Config>;
  enum : int {
    kGroups = G::kSums / 4,
    kSteps = G::kSlabs * kGroups,
    kWords = (kSteps + 7) / 8,
    kFirstBit = kWords * 32 - kSteps * 4,  // the place of the queue's first step once all are in it
    kAtOnce = 4,
    kGroupsOfTile = G::kBlockN / 4,
  };
  static_assert(kGroups % kAtOnce == 0, "steps go by fours");
  static_assert(kGroupsOfTile <= G::kWarpgroup && kGroupsOfTile * sizeof(PhiloxGrid::Group) <= G::kStoreBytes,
                "a thread makes a group's words, which lie where a piece of c will");

  u32 upper[kWords];
  u32 lower[kWords];

  // Draws the mask of the warpgroup's rows from `row` on; `groups` are the tile's.
  __device__ __forceinline__ void draw(const Draw& draw, const PhiloxGrid::Group* groups, i64 row, int warp, int lane) {
    const u32 first_row = static_cast<u32>(row) + static_cast<u32>(warp * 16 + lane / 4 + lane % 2 * 8);
    groups += lane % 4 / 2;
#pragma unroll
    for (int slab = 0; slab < G::kSlabs; ++slab) {
      const PhiloxGrid::Row of_row = draw.grid.row(first_row + static_cast<u32>(slab * G::kSlabRows));
#pragma unroll 1
      for (int first = 0; first < kGroups; first += kAtOnce) {
        PhiloxWords words[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) words[i] = draw.grid.words(of_row, load_group(groups + (first + i) * 2));
        u32 bits = 0;
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) bits |= draw.bits(words[i]) << i * 4;
#pragma unroll
        for (int i = 0; i < kWords; ++i) {
          upper[i] = __funnelshift_r(upper[i], i + 1 < kWords ? upper[i + 1] : bits, kAtOnce * 4);
        }
      }
    }
    // Make bits 0 and 1 of a step the bits of the thread's columns.
    const bool is_odd = lane % 2 != 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const u32 own = upper[i], other = __shfl_xor_sync(kFullMask, own, 1);
      upper[i] = is_odd ? other >> 2 : own;
      lower[i] = is_odd ? own >> 2 : other;
    }
  }

  // The mask of a step's row, in the lowest bits.
  __device__ __forceinline__ u32 of(int slab, int group, int half) const {
    const int bit = kFirstBit + (slab * kGroups + group) * 4;
    return (half == 0 ? upper : lower)[bit / 32] >> bit % 32;
  }

 private:
  static __device__ __forceinline__ PhiloxGrid::Group load_group(const PhiloxGrid::Group* from) {
    const uint4 words = *reinterpret_cast<const uint4*>(from);
    return {{words.x, words.y, words.z, words.w}};
  }
};

template <class Config>
struct DropoutTail {
  using G = Geometry<Config>;
  using From = TileStore<Config>;
  struct Ahead {
    typename From::Ahead added;
    Kept<Config> kept;
  };

  typename G::Storage& storage;
  From from;  // the addends
  Draw draw;

  __device__ __forceinline__ void prefetch(Ahead& ahead, i64 row, i64 column) const {
    from.prefetch(ahead.added, row, column);
    if (draws_first()) draw_tile(ahead, row, column);
  }
  __device__ __forceinline__ void load(typename G::Storage& storage, Ahead& ahead, i64 row, i64 column) const {
    from.load(storage, ahead.added, row, column);
    if (!draws_first()) draw_tile(ahead, row, column);
  }

  __device__ __forceinline__ void store(typename G::Storage& storage, float (&sums)[G::kSlabs][G::kSums],
                                        const Ahead& ahead, i64 row, i64 column) const {
    using E = Epilogue<Config>;
    if constexpr (E::kHasBias) sync();
    const Addends<Config> added{from, storage, ahead.added, row, column};
    for_each_pair<Config>(sums, [&](int slab, int group, int half, float* pair) {
      float bias[2] = {}, residual[2] = {};
      if constexpr (E::kHasBias) added.bias(group, bias);
      if constexpr (E::kHasResidual) added.residual(slab, group, half, residual);
      const u32 kept = ahead.kept.of(slab, group, half);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if constexpr (E::kHasBias) pair[i] += bias[i];
        const float value = activate<Config, typename G::T>(pair[i]) * draw.scale;
        pair[i] = (kept >> i & 1) != 0 ? value : 0.0f;
        if constexpr (E::kHasResidual) pair[i] += residual[i];
      }
    });
    const TileStore<Plain<Config>> out{from.map, nullptr,        nullptr,   from.c,   from.m,
                                       from.n,   from.warpgroup, from.warp, from.lane};
    out.store(storage, sums, {}, row, column);
  }

  __device__ __forceinline__ void sync() const { from.sync(); }
  __device__ __forceinline__ void drain() const { from.drain(); }

 private:
  // With draw_first = 1 only the second of two warpgroups on a tile draws first: it is then some stages behind the
  // other, and one draws and stores while the tensor cores work for the other.
  __device__ __forceinline__ bool draws_first() const {
    const int of_tile = G::kPingPong ? 0 : from.warpgroup;
    return of_tile + Config::draw_first >= G::kUsersOfStage;
  }

  __device__ __forceinline__ void draw_tile(Ahead& ahead, i64 row, i64 column) const {
    auto* const groups = reinterpret_cast<PhiloxGrid::Group*>(storage.c[from.warpgroup][0]);
    const int thread = from.warp * kWarpSize + from.lane;
    drain();  // the piece of c here has been read
    sync();
    if (thread < Kept<Config>::kGroupsOfTile) {
      const PhiloxGrid::Group group = draw.grid.group(static_cast<u32>(column / 4) + static_cast<u32>(thread));
      *reinterpret_cast<uint4*>(&groups[thread]) = make_uint4(group[0], group[1], group[2], group[3]);
    }
    sync();
    ahead.kept.draw(draw, groups, row, from.warp, from.lane);
  }
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
        return DropoutTail<C>{*shared_storage<typename Geometry<C>::Storage>(),
                              {map_c, bias, residual, c, m, n, warpgroup, warp, lane},
                              Draw(p, seed, offset)};
      },
      partials, counters, m, n, k);
}
