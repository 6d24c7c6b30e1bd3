// SPDX-License-Identifier: Apache-2.0
#pragma once

// The division of work in the stream kernel, and its shared memory. A product has rows, which wgmma takes 64 at a time,
// and columns, which it takes in any multiple of 8: m and n if swap = 0, n and m if swap = 1.

#include "device/config.cuh"

namespace tilewright::gemm {

template <class Config>
struct StreamGeometry {
  using T = typename Config::dtype;
  __device__ static constexpr int parts() {
    if constexpr (requires { Config::parts; }) return Config::parts;
    return 1;
  }
  enum : bool {
    kSwap = Config::swap == 1,
    kPingPong = Config::pingpong == 1,
    kHalves = Config::halves == 1,
  };
  enum : int {
    kRows = Config::block_m,
    kColumns = Config::block_n,
    kBlockK = 64,
    kStages = Config::stages,
    kRowBytes = 128,  // of a swizzled part: 64 of k

    kWarpgroup = 128,
    kConsumers = 2,
    kThreads = kWarpgroup * (1 + kConsumers),
    kUsersOfStage = kPingPong ? 1 : kConsumers,
    kProducerRegisters = 40,
    kConsumerRegisters = 232,

    kSlabRows = 64,
    kStepElements = 16,
    // Warpgroups share a tile by its rows, or by its columns if halves = 1.
    kWarpgroupRows = kHalves ? kRows : kRows / kUsersOfStage,
    kWarpgroupColumns = kHalves ? kColumns / kUsersOfStage : kColumns,
    kSlabs = kWarpgroupRows / kSlabRows,
    kSteps = kBlockK / kStepElements,
    kSums = kWarpgroupColumns / 2,

    // Blocks of a cluster have adjacent tiles along the rows or the columns,
    kClusterRows = Config::cluster_m,
    kClusterColumns = Config::cluster_n,
    kTilesOfCluster = kClusterRows * kClusterColumns,
    // or parts of these tiles' k.
    kParts = parts(),
    kClusterSize = kTilesOfCluster * kParts,
    kReach = kClusterRows + kClusterColumns - 1,

    // A block's share of its cluster's copies. Parts of columns are multiples of 8; the last two may overlap.
    kPartRows = kRows / kClusterColumns,
    kPartColumns = (kColumns / 8 + kClusterRows - 1) / kClusterRows * 8,

    kBytesRows = kRows * kRowBytes,
    kBytesColumns = kColumns * kRowBytes,
    kArrivingBytes = kBytesRows + kClusterRows * kPartColumns * kRowBytes,

    // c is stored by a slab's rows and kPieceColumns columns at a time, through two buffers. If swap = 1, a tensor copy
    // takes kStoreColumns of its columns: a part of a tile may have any multiple of 8.
    kPieceColumns = 32,
    kPieces = (kWarpgroupColumns + kPieceColumns - 1) / kPieceColumns,
    kPieceBytes = kSlabRows * kPieceColumns * 2,
    kStoreColumns = kParts > 1 || kWarpgroupColumns % 16 > 0 ? 8
                    : kWarpgroupColumns % 32 > 0             ? 16
                                                             : 32,
    kStoreRows = 16,  // if swap = 0: those of a warp
  };
  static_assert(!kPingPong || !kHalves, "warpgroups that take turns have whole tiles");
  static_assert(kWarpgroupColumns % 8 == 0, "wgmma takes columns by 8");
  static_assert(sizeof(T) == 2, "elements of 16 bits");
  static_assert(kWarpgroupRows % kSlabRows == 0, "a warpgroup has whole slabs of 64 rows");
  static_assert(kPartRows % 8 == 0 && kPartColumns <= kColumns, "blocks copy whole parts of 8 rows");

  struct Storage {
    alignas(1024) unsigned char rows[kStages][kBytesRows];
    alignas(1024) unsigned char columns[kStages][kBytesColumns];
    alignas(1024) unsigned char c[kConsumers][2][kPieceBytes];
    u64 full[kStages];
    u64 empty[kStages];
  };
};

}  // namespace tilewright::gemm
