// SPDX-License-Identifier: Apache-2.0
#pragma once

// The wgmma_ahead kernel of attention_bwd: the work and the tiles of wgmma_geometry.cuh, but dx waits in shared memory
// for the next step, and each warpgroup's share of dq is added by itself.

#include "wgmma_geometry.cuh"

namespace tilewright::attention {

// Names the kernel whose tiles are meant.
template <class Config>
struct Ahead : Config {
  using Plain = Config;
};

template <class Config>
struct BackwardTiles<Ahead<Config>> : BackwardTiles<Config> {
  using Base = BackwardTiles<Config>;
  enum : bool {
    kJoins = Config::joins == 1,    // the next piece's first step hides a piece's last dk and dq
    kDkAtOnce = Config::dk == 1,    // from registers, beside dv: dq alone follows the next step's x
    kHalves = Config::groups == 2,  // blocks at even places of all heads come before all others
  };
  enum : int {
    kDxBuffers = Config::dx_buffers,
    kLead = Config::lead,  // quarters of the weights computed before dk's and dq's products begin
    kAdders = Base::kBulk ? static_cast<int>(Base::kConsumers) : 0,
    kShareDq = Base::kTileDq / Base::kConsumers,  // floats
    kProducerRegisters = !Base::kBulk || Base::kQueries == 80 ? 24 : 40,
    kConsumerRegisters = !Base::kBulk || Base::kQueries == 80 ? 240 : 232,
  };
  static_assert(!Base::kEarly, "dv begins beside dx");
  static_assert(Base::kHead / 2 + Base::kHeadV / 2 + 2 * Base::kScores <= 192,
                "a share of dq stays in registers beside dk, dv, and what x or dp is now");
  static_assert(!kJoins || Base::kKeyStages == 2, "two pieces at once have two stages of keys");
  static_assert(!kHalves || Base::kStores, "halves are for turns");
  static_assert(kDxBuffers == 1 || kDxBuffers == 2, "one or two buffers of dx");
  static_assert(kLead >= 0 && kLead <= 2 && Base::kQueries % 16 == 0, "quarters of the weights");

  struct Storage {
    alignas(1024) unsigned char k[Base::kKeyStages][Base::kBytesK];
    alignas(1024) unsigned char v[Base::kKeyStages][Base::kBytesV];
    alignas(1024) unsigned char q[Base::kStages][Base::kBytesQ];
    alignas(1024) unsigned char d_o[Base::kStages][Base::kBytesDo];
    alignas(1024) unsigned char dx[kDxBuffers][Base::kBytesDx];  // keys × queries
    alignas(128) float dq[Base::kConsumers][Base::kBulk ? static_cast<int>(kShareDq) : 4];
    alignas(16) float lse[Base::kStages][Base::kQueries];  // to base 2
    alignas(16) float delta[Base::kStages][Base::kQueries];
    u64 full_k[Base::kKeyStages], full_v[Base::kKeyStages], empty_keys[Base::kKeyStages];
    u64 full_q[Base::kStages], empty_q[Base::kStages];
    u64 full_do[Base::kStages], empty_do[Base::kStages];
    u64 full_dx[kDxBuffers], empty_dx[kDxBuffers];
    u64 full_dq[Base::kConsumers], empty_dq[Base::kConsumers];
    u32 pieces[Base::kKeyStages];  // whose keys the stage has
  };
};

// Blocks of a head reach a tile of dq one after the other, a step apart if a step has as many queries as a block has
// keys. Sums take longer than a step to arrive. In halves, blocks that begin together are two steps apart. A place is
// that of a block, or a pair, among those of its head.
template <class Config>
requires(is_same<Config, Ahead<typename Config::Plain>>) __device__ __forceinline__ BackwardWork
    make_backward_work(const BackwardProblem& problem, u32 index) {
  using G = BackwardTiles<Config>;
  if constexpr (G::kHalves) {
    const u32 key_blocks = static_cast<u32>(ceil_div(problem.keys, i32{G::kKeys}));
    const u32 heads = static_cast<u32>(problem.batches) * static_cast<u32>(problem.key_heads);
    const u32 places = G::kPairs ? (key_blocks + 1) / 2 : key_blocks, even = (places + 1) / 2;
    const u32 number = G::kPairs ? index / 2 : index, is_odd = number >= heads * even ? 1 : 0;
    const u32 inside = number - is_odd * heads * even, width = is_odd == 0 || places < 2 ? even : places - even;
    const u32 plain = inside / width * places + inside % width * 2 + is_odd;
    index = G::kPairs ? plain * 2 + index % 2 : plain;
  }
  return make_backward_work<typename Config::Plain>(problem, index);
}

// As turn_of(), by places.
template <class Config>
__device__ __forceinline__ Turn turn_of_place(const BackwardProblem& problem, const BackwardWork& work, i32 block) {
  using G = BackwardTiles<Config>;
  const Turn turn = turn_of<Config>(problem, work, block);
  if constexpr (!G::kHalves) return turn;
  const i32 key_blocks = ceil_div(problem.keys, i32{G::kKeys}), pairs = (key_blocks + 1) / 2;
  const i32 own = work.first_key / G::kKeys;
  const i32 place = !G::kPairs ? own : work.descends ? own - (key_blocks - pairs) : pairs - 1 - own;
  const Adders adders = adders_of<Config>(problem.queries, problem.keys, block);
  // The blocks that add to the sum have places `first` to `end` - 1.
  const i32 first = place - turn.before, end = first + (turn.is_second ? adders.second : adders.first);
  const auto even_before = [&](i32 place) { return (place + 1) / 2 - (first + 1) / 2; };
  if (place % 2 == 0) return {even_before(place), turn.is_second};
  return {even_before(end) + (place / 2 - first / 2), turn.is_second};
}

}  // namespace tilewright::attention
