// SPDX-License-Identifier: Apache-2.0
#pragma once

// The division of work in the wgmma kernel, and its shared memory (docs/kernels/gemm.md).

#include "device/config.cuh"

namespace tilewright::gemm {

template <class Config>
struct Geometry {
  using T = typename Config::dtype;
  enum : bool {
    kTransposedA = Config::layout == "tn",  // rows of the tile in memory are rows of k
    kTransposedB = Config::layout != "nt",
    kPingPong = Config::pingpong == 1,
  };
  enum : int {
    kBlockM = Config::block_m,
    kBlockN = Config::block_n,
    kBlockK = Config::block_k,
    kStages = Config::stages,

    // A row of a swizzled part: 128 bytes.
    kRowBytes = 128,
    kRowElements = static_cast<int>(kRowBytes / sizeof(T)),

    // A producer warpgroup and the consumers: these share one tile, or take tiles of their own in turn (pingpong).
    kWarpgroup = 128,
    kConsumers = Config::consumers,
    kThreads = kWarpgroup * (1 + kConsumers),
    kUsersOfStage = kPingPong ? 1 : kConsumers,
    kProducerRegisters = kConsumers == 3 ? 32 : 40,
    kConsumerRegisters = kConsumers == 3 ? 160 : 232,

    // The m and the k of one wgmma; a warpgroup's rows are whole slabs of kSlabRows.
    kSlabRows = 64,
    kStepElements = static_cast<int>(32 / sizeof(T)),
    kWarpgroupRows = kBlockM / kUsersOfStage,
    kSlabs = kWarpgroupRows / kSlabRows,
    kSteps = kBlockK / kStepElements,
    kSums = kBlockN / 2,

    kClusterM = Config::cluster_m,
    kClusterN = Config::cluster_n,
    kClusterK = Config::cluster_k,
    kTilesOfCluster = kClusterM * kClusterN,
    kClusterSize = kTilesOfCluster * kClusterK,
    // Blocks whose stages a block's copies reach, itself included.
    kReach = kClusterM + kClusterN - 1,

    kBytesA = static_cast<int>(kBlockM * kBlockK * sizeof(T)),
    kBytesB = static_cast<int>(kBlockN * kBlockK * sizeof(T)),
    kStageBytes = kBytesA + kBytesB,

    // c is stored by a slab's rows and kStoreColumns columns at a time.
    kStoreColumns = kBlockN % kRowElements == 0 ? kRowElements : kRowElements / 2,
    kStoreBuffers = 2,
    kStoreRowBytes = static_cast<int>(kStoreColumns * sizeof(T)),
    kStoreBytes = kSlabRows * kStoreRowBytes,
  };
  static_assert(kWarpgroupRows % kSlabRows == 0, "a warpgroup has whole slabs of 64 rows");
  static_assert(kBlockK % kRowElements == 0, "block_k is a multiple of 128 bytes");
  static_assert(!kTransposedB || kBlockN % kRowElements == 0, "a transposed b is cut into parts of 128 bytes of n");
  static_assert(!kPingPong || kConsumers == 2, "two warpgroups take turns");
  static_assert(kClusterK == 1 || (kClusterK == Config::split_k && kTilesOfCluster == 1 && !kPingPong),
                "a cluster has tiles that share operands, or all parts of one");
  static_assert(kSlabs * kSums <= 208, "the sums of a thread stay in its registers");

  struct Storage {
    alignas(1024) unsigned char a[kStages][kBytesA];
    alignas(1024) unsigned char b[kStages][kBytesB];
    alignas(1024) unsigned char c[Config::tensor_store ? kConsumers : 1][kStoreBuffers]
                                 [Config::tensor_store ? kStoreBytes : 16];
    alignas(16) T bias[Config::bias == "yes" ? kConsumers : 1][Config::bias == "yes" ? kBlockN : 8];
    // Sums over the other parts of k, in the block that has the first.
    alignas(16) float parts[kClusterK > 1 ? kClusterK - 1 : 1][kClusterK > 1 ? kBlockM* kBlockN : 4];
    u64 full[kStages];
    u64 empty[kStages];
    u32 last[kConsumers];  // of each warpgroup: the shared word of Split
  };
};

}  // namespace tilewright::gemm
