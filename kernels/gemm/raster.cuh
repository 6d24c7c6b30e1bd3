// SPDX-License-Identifier: Apache-2.0
#pragma once

// The order of the tiles of c. Blocks with neighbouring numbers run at the same time and should share operands in L2.
// So tiles go in bands of `group` rows of tiles, column by column in a band:
//
//   group = 2     0 2 4 6     six concurrent blocks read 2 rows of tiles of a and 3 columns of b;
//                 1 3 5 7     row by row they would read 2 and 4
//                 8 …
//
// A row of tiles is block_m rows of c (and of a), a column of tiles block_n columns (of b as well).

#include "device/config.cuh"

namespace tilewright::gemm {

struct RasterTile {
  u32 row, column;  // in tiles
};

// Tile number `tile` of tiles_m · tiles_n, a product that fits 32 bits.
template <class Config>
__device__ __forceinline__ RasterTile raster(u32 tile, u32 tiles_m, u32 tiles_n) {
  if constexpr (Config::group == 1) {
    const u32 row = tile / tiles_n;
    return {row, tile - row * tiles_n};
  } else {
    constexpr u32 kGroup = Config::group;
    const u32 band_tiles = kGroup * tiles_n;
    const u32 band = tile / band_tiles;
    const u32 in_band = tile - band * band_tiles;
    const u32 first_row = band * kGroup;
    // The last band may have fewer rows.
    const u32 rows = tiles_m - first_row < kGroup ? tiles_m - first_row : kGroup;
    const u32 column = in_band / rows;
    return {first_row + (in_band - column * rows), column};
  }
}

}  // namespace tilewright::gemm
