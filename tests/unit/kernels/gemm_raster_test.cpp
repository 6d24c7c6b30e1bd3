// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <utility>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::gemm_raster_test {
namespace {

using Tile = std::pair<unsigned, unsigned>;

/// Rows and columns of tiles_m · tiles_n tiles, in the raster's order.
template <int kGroup>
std::vector<Tile> order(unsigned tiles_m, unsigned tiles_n) {
  static const EmulatedKernel kernel("struct Fixed { static constexpr int group = " + std::to_string(kGroup) + R"cu(; };
#include "gemm/raster.cuh"
template <class>
__global__ void kernel(unsigned* places, unsigned tiles_m, unsigned tiles_n) {
  const auto tile = gemm::raster<Fixed>(blockIdx.x, tiles_m, tiles_n);
  places[2 * blockIdx.x] = tile.row;
  places[2 * blockIdx.x + 1] = tile.column;
}
)cu");
  std::vector<unsigned> places(2 * tiles_m * tiles_n);
  EXPECT_EQ(kernel.run(extents(tiles_m * tiles_n, 1), places.data(), tiles_m, tiles_n).text, "");
  std::vector<Tile> tiles;
  for (std::size_t i = 0; i < places.size(); i += 2) tiles.emplace_back(places[i], places[i + 1]);
  return tiles;
}

TEST(GemmRaster, goes_down_the_columns_of_a_band) {
  EXPECT_EQ(order<2>(3, 2), (std::vector<Tile>{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}}));
  EXPECT_EQ(order<1>(2, 3), (std::vector<Tile>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
}

TEST(GemmRaster, comes_by_every_tile_once) {
  for (const auto& [tiles_m, tiles_n] : {std::array{1u, 1u}, {1u, 9u}, {9u, 1u}, {8u, 3u}, {19u, 5u}}) {
    const std::vector<Tile> tiles = order<8>(tiles_m, tiles_n);
    const std::set<Tile> distinct(tiles.begin(), tiles.end());
    EXPECT_EQ(distinct.size(), tiles_m * tiles_n);
    for (const auto& [row, column] : distinct) EXPECT_TRUE(row < tiles_m && column < tiles_n);
  }
}

}  // namespace
}  // namespace tilewright::test::gemm_raster_test
