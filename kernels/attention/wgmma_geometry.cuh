// SPDX-License-Identifier: Apache-2.0
#pragma once

// The division of work in attention's wgmma kernel, and its shared memory (docs/kernels/attention.md).

#include "device/config.cuh"
#include "work.cuh"

namespace tilewright::attention {

template <class Config>
struct Geometry {
  using T = typename Config::dtype;
  enum : bool {
    kCausal = Config::causal == "yes",
    kWindow = Config::window == "yes",
    kSoftcap = Config::softcap == "yes",
    kLse = Config::lse == "yes",
    kPingPong = Config::pingpong == 1,
    kKeepBase = Config::keep_base == 1,
    // The product adds up the rounded weights, by a column of ones beside the values.
    kOnes = Config::ones == 1,
    kSkips = (kCausal || kWindow) && Config::block_m > 64,  // warpgroups see different last blocks
  };
  enum : int {
    kBlockM = Config::block_m,
    kBlockN = Config::block_n,
    kHead = Config::block_d,    // d, rounded up to a step of the first product
    kHeadV = Config::block_dv,  // dv, rounded up to a group of columns of the second
    kStages = Config::stages,
    kQueryStages = Config::query_stages,
    kPack = Config::pack,  // query heads of one key head in neighbouring rows
    // Remembered pieces: when a consumer ends a piece, it may have released the next one's queries, and as many more
    // pieces as there are stages may have been taken.
    kWorks = 4,

    // Two warps of the first warpgroup copy; each other warpgroup has 64 rows of the block.
    kWarpgroup = 128,
    kWarpgroupRows = 64,
    kConsumers = kBlockM / kWarpgroupRows,
    kThreads = kWarpgroup * (1 + kConsumers),
    kProducerRegisters = kConsumers >= 3 ? 32 : 24,
    kConsumerRegisters = kConsumers == 4   ? 112
                         : kConsumers == 3 ? 160
                                           : 240,

    // A tile consists of parts of 128 bytes of columns, each of all its rows.
    kRowBytes = 128,
    kRowElements = static_cast<int>(kRowBytes / sizeof(T)),
    kParts = ceil_div(static_cast<int>(kHead), static_cast<int>(kRowElements)),
    kPartsV = ceil_div(static_cast<int>(kHeadV), static_cast<int>(kRowElements)),
    kBytesQ = kBlockM * kParts * kRowBytes,
    kBytesK = kBlockN * kParts * kRowBytes,
    kBytesV = kBlockN * kPartsV * kRowBytes,
    kBytesOnes = kOnes ? kBlockN * kRowBytes : 0,  // one more part of v
    kNextOfQueries = kBlockM * kRowBytes,          // from part to part
    kNextOfKeys = kBlockN * kRowBytes,

    // Steps of the products' inner dimensions, and a thread's scores and results.
    kStep = 16,
    kSteps = kHead / kStep,
    kStepsV = kBlockN / kStep,
    kScores = kBlockN / 2,
    kColumnsV = kHeadV + (kOnes ? 8 : 0),  // of the second product
    kResults = kColumnsV / 2,
    kSumsAt = kHeadV / 2,  // in a thread's results, with ones
    // Weights computed before the second product has ended, in quarters of a block.
    kLead = kScores * Config::lead / 4 / 8 * 8,
  };
  static_assert(sizeof(T) == 2, "elements have 16 bits");
  static_assert(kBlockM % kWarpgroupRows == 0 && kConsumers >= 1 && kConsumers <= 4,
                "one to four warpgroups of 64 rows");
  static_assert(kBlockN % kStep == 0 && kBlockN <= 256, "block_n is whole steps of the second product");
  static_assert(kHead % kStep == 0 && kHead <= 256, "block_d is whole steps of the first product");
  static_assert(kHeadV % 8 == 0 && kHeadV <= 256, "block_dv is whole groups of 8 columns");
  static_assert(kBlockM % kPack == 0, "a block has whole tokens");
  static_assert(kQueryStages + 2 <= kWorks, "a piece is remembered until it has ended");
  static_assert(!kPingPong || kConsumers >= 2, "two warpgroups or more take turns");
  static_assert(!kOnes || (kHeadV % kRowElements == 0 && kColumnsV <= 256), "ones are a part of their own");
  static_assert(kScores + kHeadV / 2 + kScores / 2 <= (kConsumers == 4   ? 80
                                                       : kConsumers == 3 ? 136
                                                                         : 212),
                "scores, weights and results stay in registers");

  // The distance from part to part of a stage's values, and on to the ones.
  __device__ static constexpr u32 next_of_values(u32 /*stage*/) { return kNextOfKeys; }

  struct Storage {
    alignas(1024) unsigned char q[kQueryStages][kBytesQ];
    alignas(1024) unsigned char k[kStages][kBytesK];
    alignas(1024) unsigned char v[kStages][kBytesV + kBytesOnes];
    Work work[kWorks];
    u64 full_q[kQueryStages], empty_q[kQueryStages];
    u64 full_k[kStages], empty_k[kStages];
    u64 full_v[kStages], empty_v[kStages];

    // The queries of a warpgroup.
    __device__ __forceinline__ unsigned char* queries(u32 stage, int warpgroup) {
      return q[stage] + warpgroup * kWarpgroupRows * kRowBytes;
    }
    __device__ __forceinline__ unsigned char* keys(u32 stage) { return k[stage]; }
    __device__ __forceinline__ unsigned char* values(u32 stage) { return v[stage]; }
    // The address kBytesV before the ones.
    __device__ __forceinline__ unsigned char* before_ones(int stage) { return v[stage]; }
  };
};

}  // namespace tilewright::attention
