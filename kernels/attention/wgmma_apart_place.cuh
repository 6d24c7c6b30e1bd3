// SPDX-License-Identifier: Apache-2.0
#pragma once

// The places of tiles in shared memory in wgmma_apart.cu, and a query barrier for each warpgroup.
//
// The ones lie behind the last part of the values, as far from it as that is from the part before. If keys and queries
// have three parts, values two, and all parts 64 columns of 128 rows, values whose parts lie one or four places apart
// share the ones, and all fit:
//
//   place    0    1 2 3    4    5    6 7    8     9    10 11 12    13
//            v₁   k₀       v₁   q    v₀     ones  q    k₁          q

#include "wgmma_geometry.cuh"
#include "work.cuh"

namespace tilewright::attention {

// A config with tiles at these places.
template <class Config>
struct Placed : Config {};

template <class Config>
struct Geometry<Placed<Config>> : Geometry<Config> {
  using G = Geometry<Config>;
  enum : bool {
    kSharesOnes =
        G::kOnes && G::kStages == 2 && G::kParts == 3 && G::kPartsV == 2 && int{G::kBlockN} == int{G::kBlockM},
  };
  enum : u32 {
    kPart = G::kNextOfKeys,  // of keys or values
    kQueriesAt = kSharesOnes ? 5 * kPart : 0,
    kNextOfQueries = kSharesOnes ? 4 * kPart : u32{G::kNextOfQueries},  // from part to part
    kStageV = G::kBytesV + G::kBytesOnes,
    kTiles = kSharesOnes ? 14 * kPart : G::kBytesQ + G::kStages * (G::kBytesK + kStageV),
    kOwnBytesQ = G::kBytesQ / G::kConsumers,  // per warpgroup
  };

  __device__ static constexpr u32 keys_at(u32 stage) {
    if (kSharesOnes) return stage == 0 ? u32{kPart} : 10 * kPart;
    return G::kBytesQ + stage * G::kBytesK;
  }
  __device__ static constexpr u32 values_at(u32 stage) {
    if (kSharesOnes) return stage == 0 ? 6 * kPart : 0;
    return G::kBytesQ + G::kStages * G::kBytesK + stage * kStageV;
  }
  // The distance from part to part of a stage's values, and on to the ones.
  __device__ static constexpr u32 next_of_values(u32 stage) { return kSharesOnes && stage == 1 ? 4 * kPart : kPart; }

  struct Storage {
    union {  // without it, the compiler computes the addresses of queries in another way
      alignas(1024) unsigned char tiles[kTiles];
    };
    Work work[G::kWorks];
    u64 full_own_q[G::kConsumers], empty_own_q[G::kConsumers];
    u64 full_k[G::kStages], empty_k[G::kStages];
    u64 full_v[G::kStages], empty_v[G::kStages];
    u64 full_q[1], empty_q[1];  // of shared queries: run() initialises them, and nobody waits

    // The queries of a warpgroup.
    __device__ __forceinline__ unsigned char* queries(u32 /*stage*/, int warpgroup) {
      return tiles + kQueriesAt + warpgroup * G::kWarpgroupRows * G::kRowBytes;
    }
    __device__ __forceinline__ unsigned char* keys(u32 stage) { return tiles + keys_at(stage); }
    __device__ __forceinline__ unsigned char* values(u32 stage) { return tiles + values_at(stage); }
    // The address kBytesV before the ones.
    __device__ __forceinline__ unsigned char* before_ones(u32 stage) {
      return tiles + values_at(stage) + G::kPartsV * next_of_values(stage) - G::kBytesV;
    }
  };
};

// A config whose warpgroups wait for their own queries.
template <class Config>
struct Apart : Placed<Config> {};

template <class Config>
struct Geometry<Apart<Config>> : Geometry<Placed<Config>> {};

}  // namespace tilewright::attention
