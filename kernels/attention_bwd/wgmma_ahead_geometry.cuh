// SPDX-License-Identifier: Apache-2.0
#pragma once

// The wgmma_ahead kernel of attention_bwd: the work and the tiles of wgmma_geometry.cuh, but dx waits in shared memory
// for the next step, and each warpgroup's share of dq is added by itself.

#include "wgmma_geometry.cuh"

namespace tilewright::attention {

// The parameters of `wgmma` that wgmma_ahead does not tune.
template <class Config>
struct AheadConfig : Config {
  static constexpr int stages = 2, early = 0, bulk = 1;
  static constexpr int key_stages = Config::persistent > 0 ? 2 : 1;
  static constexpr int order =
      Config::window == "no" && (Config::causal == "yes" || Config::deterministic == "yes") ? 1 : 0;
};

// Of the configs that have no `bulk`: those of wgmma_ahead.
template <class Config>
requires(!requires { Config::bulk; }) struct BackwardTiles<Config> : BackwardTiles<AheadConfig<Config>> {
  using Base = BackwardTiles<AheadConfig<Config>>;
  enum : bool { kJoins = Config::joins == 1 };  // the next piece's first step hides a piece's last dq
  enum : int {
    kLead = Config::lead,  // quarters of the weights computed before dq's product begins
    kAdders = Base::kConsumers,
    kShareDq = Base::kTileDq / Base::kConsumers,  // floats
  };
  static_assert(Base::kHead / 2 + Base::kHeadV / 2 + 2 * Base::kScores <= 192,
                "a share of dq stays in registers beside dk, dv, and what x or dp is now");
  static_assert(!kJoins || Base::kKeyStages == 2, "two pieces at once have two stages of keys");
  static_assert(kLead >= 0 && kLead <= 2 && Base::kQueries % 16 == 0, "quarters of the weights");

  struct Storage {
    alignas(1024) unsigned char k[Base::kKeyStages][Base::kBytesK];
    alignas(1024) unsigned char v[Base::kKeyStages][Base::kBytesV];
    alignas(1024) unsigned char q[Base::kStages][Base::kBytesQ];
    alignas(1024) unsigned char d_o[Base::kStages][Base::kBytesDo];
    alignas(1024) unsigned char dx[2][Base::kBytesDx];  // keys × queries
    alignas(128) float dq[Base::kConsumers][kShareDq];
    alignas(16) float lse[Base::kStages][Base::kQueries];  // to base 2
    alignas(16) float delta[Base::kStages][Base::kQueries];
    u64 full_k[Base::kKeyStages], full_v[Base::kKeyStages], empty_keys[Base::kKeyStages];
    u64 full_q[Base::kStages], empty_q[Base::kStages];
    u64 full_do[Base::kStages], empty_do[Base::kStages];
    u64 full_dx[2], full_dq[Base::kConsumers], empty_dq[Base::kConsumers];
    u32 pieces[Base::kKeyStages];  // whose keys the stage has
  };
};

}  // namespace tilewright::attention
