// SPDX-License-Identifier: Apache-2.0
#pragma once

// The block of fused/wgmma.cuh for more tiles than fit at once. The tiles of the last wave, which would leave most of
// the device idle, are cut along k into Config::tail parts each, so that all blocks have one. split.cuh adds the parts.

#include "wgmma.cuh"

namespace tilewright::gemm {

// Wraps an op's config inside LinearByMap.
template <class Config>
struct Tailed : Config {
  static constexpr bool kTailed = true;
};
template <class Config>
using TailedByMap = LinearByMap<Tailed<Config>>;

// Whole tiles while all clusters have one, then parts. If the parts outnumber the clusters, nothing is cut.
template <class Config>
struct Schedule<TailedByMap<Config>> {
  using G = Geometry<TailedByMap<Config>>;
  using Whole = Schedule<LinearByMap<Config>>;
  enum : u32 { kParts = Config::tail };
  static_assert(G::kClusterK == 1 && Config::split_k == 1, "only the last wave is cut");

  struct Work : Whole::Work {
    bool is_part;
  };

  Whole whole;
  u32 uncut, pieces;
  u32 rank_m, rank_n, rank_k;

  __device__ __forceinline__ Schedule(i64 m, i64 n, i64 k, u32 rank)
      : whole(m, n, k, rank), rank_m(whole.rank_m), rank_n(whole.rank_n), rank_k(0) {
    const u32 tiles = whole.tiles_m * whole.tiles_n, rest = tiles % whole.clusters;
    const bool cuts = rest * kParts <= whole.clusters;
    uncut = cuts ? tiles - rest : tiles;
    pieces = cuts ? uncut + rest * kParts : tiles;
  }

  __device__ __forceinline__ bool done() const { return whole.next >= pieces; }
  __device__ __forceinline__ void skip(u32 count) { whole.skip(count); }

  __device__ __forceinline__ Work work() const {
    if (whole.next < uncut) return {whole.work(), false};
    const u32 piece = whole.next - uncut, of_rest = piece / kParts;
    Whole at = whole;
    at.next = uncut + of_rest;
    Work work{at.work(), true};
    work.split = piece % kParts;
    work.range = split_range<kParts>(whole.blocks_k, work.split);
    work.tile = of_rest * G::kTilesOfCluster + rank_n * G::kClusterM + rank_m;
    return work;
  }
};

// A consumer warpgroup: multiplies and stores, piece after piece.
template <class Config, class Tail>
requires(Config::kTailed) __device__ __forceinline__
    void consume_with(typename Geometry<Config>::Storage& storage, const Tail& tail, Schedule<Config> schedule,
                      float* partials, u32* counters, u32 own, int thread) {
  using G = Geometry<Config>;
  constexpr u32 kTurn = 1 + G::kConsumers;  // the first named barrier after those of the stores
  constexpr u32 kBoth = 2 * G::kWarpgroup;
  const u32 of_tile = G::kPingPong ? 0 : own;  // the warpgroup's number in its tile
  const i64 first_row = of_tile * G::kWarpgroupRows;
  const LinearMultiplier<Config> multiplier{storage, static_cast<int>(first_row), thread, schedule.rank_m,
                                            schedule.rank_n};
  Ring<G::kStages> ring;
  const auto leave_to_other = [&] {
    ring.advance(schedule.work().range.count);
    schedule.skip(1);
  };
  if constexpr (G::kPingPong) {
    if (own == 1) {
      if (!schedule.done()) leave_to_other();
      ptx::barrier_arrive(kTurn, kBoth);
    }
  }
  while (!schedule.done()) {
    const auto work = schedule.work();
    const i64 row = work.row + first_row;
    float sums[G::kSlabs][G::kSums];
    typename Tail::Ahead ahead;
    tail.prefetch(ahead, row, work.column);
    if constexpr (G::kPingPong) ptx::barrier_sync(kTurn + own, kBoth);
    multiplier.multiply(sums, ring, work.range.count, [&] {
      if constexpr (G::kPingPong) ptx::barrier_arrive(kTurn + 1 - own, kBoth);
      tail.load(storage, ahead, row, work.column);
    });
    const bool has_sums = !work.is_part || Split<Config::tail, G::kWarpgroup>::sum_up(
                                               sums, partials, counters, work.tile * G::kUsersOfStage + of_tile,
                                               work.split, thread, &storage.last[own], [&] { tail.sync(); });
    if (has_sums) tail.store(storage, sums, ahead, row, work.column);
    schedule.skip(1);
    if (G::kPingPong && !schedule.done()) leave_to_other();
  }
  tail.drain();
}

}  // namespace tilewright::gemm
