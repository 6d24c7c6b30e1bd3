// SPDX-License-Identifier: Apache-2.0
#pragma once

// The work of a cluster of blocks: pieces, each a tile of c or a part of its k. With stream = 0 all are whole tiles.
// Otherwise the tiles that would leave the last wave short are streamed: their k, tile after tile, is one line, cut
// into as many equal parts as there are clusters.
//
//   tile      |     0     |     1     |     2     |           three tiles, four clusters
//   cluster   |   0    |   1    |   2    |   3    |
//
// The cluster with the end of a cut tile's k stores it, after adding the parts of the clusters before it. Each cluster
// goes through its part from the end: its first piece is left to the next cluster, its last waits for earlier clusters.

#include "device/config.cuh"
#include "raster.cuh"
#include "split.cuh"
#include "stream_geometry.cuh"

namespace tilewright::gemm {

template <class Config>
struct StreamSchedule {
  using G = StreamGeometry<Config>;

  struct Work {
    i64 row, column;   // the tile's first
    u32 first, count;  // blocks of k
    u32 tile;          // by number
  };

  u32 tiles_rows, tiles_columns;  // counted in clusters
  u32 blocks_k;
  u32 clusters, cluster;
  u32 begin, end;  // of the stream: the rest of the cluster's part
  u32 next;        // next whole tile
  u32 rank_rows, rank_columns, rank_part;

  __device__ __forceinline__ StreamSchedule(i64 rows, i64 columns, i64 k, u32 rank)
      : tiles_rows(static_cast<u32>(ceil_div(rows, i64{G::kRows} * G::kClusterRows))),
        tiles_columns(static_cast<u32>(ceil_div(columns, i64{G::kColumns} * G::kClusterColumns))),
        blocks_k(static_cast<u32>(ceil_div(k, i64{G::kBlockK}))),
        clusters(gridDim.x / G::kClusterSize),
        cluster(blockIdx.x / G::kClusterSize),
        rank_rows(rank % G::kClusterRows),
        rank_columns(rank % G::kTilesOfCluster / G::kClusterRows),
        rank_part(rank / G::kTilesOfCluster) {
    begin = bound(cluster);
    end = bound(cluster + 1);
    next = streamed() + cluster;
  }

  __device__ __forceinline__ u32 tiles() const { return tiles_rows * tiles_columns; }
  // The number of streamed tiles, the first ones: all if there are fewer than clusters, else the remainder and one
  // wave.
  __device__ __forceinline__ u32 streamed() const {
    if constexpr (Config::stream == 0) return 0;
    const u32 rest = tiles() % clusters;
    if (rest == 0) return 0;
    return tiles() < clusters ? tiles() : rest + clusters;
  }
  // Where a cluster's part begins.
  __device__ __forceinline__ u32 bound(u32 which) const {
    if constexpr (Config::stream == 0) return 0;
    const u32 all = streamed() * blocks_k;
    const u32 least = all / clusters, more = all % clusters;
    return which * least + (which < more ? which : more);
  }

  __device__ __forceinline__ bool done() const { return begin == end && next >= tiles(); }
  __device__ __forceinline__ Work work() const {
    u32 tile = next;
    auto [first, count] = split_range<G::kParts>(blocks_k, rank_part);
    if (Config::stream != 0 && begin < end) {
      tile = (end - 1) / blocks_k;
      const u32 start = tile * blocks_k;
      first = begin > start ? begin - start : 0;
      count = end - start - first;
    }
    const RasterTile at = raster<Config>(tile, tiles_rows, tiles_columns);
    return {i64{at.row * G::kClusterRows + rank_rows} * G::kRows,
            i64{at.column * G::kClusterColumns + rank_columns} * G::kColumns, first, count, tile};
  }
  __device__ __forceinline__ void skip() {
    if (Config::stream != 0 && begin < end) {
      const u32 start = (end - 1) / blocks_k * blocks_k;
      end = begin > start ? begin : start;
    } else {
      next += clusters;
    }
  }
};

}  // namespace tilewright::gemm
