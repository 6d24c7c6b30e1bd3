// SPDX-License-Identifier: Apache-2.0
// kernels/gemm/stream_schedule.cuh: the assignment of parts of k of tiles to clusters.
// kernels/gemm/stream_store.cuh: the places of sums in c.
// kernels/gemm/stream_share.cuh: sums over a cluster's blocks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::gemm_stream_test {
namespace {

std::string config(int block_m, int block_n, int swap, int stream, const std::string& more) {
  return fmt::format(R"cu(
struct Fixed {{
  using dtype = __nv_bfloat16;
  static constexpr int block_m = {}, block_n = {}, swap = {}, stream = {}, halves = 0, pingpong = 0, stages = 1;
  static constexpr int cluster_m = 1, cluster_n = 1, group = 8;
  static constexpr Name {};
}};
)cu",
                     block_m, block_n, swap, stream, more);
}

struct Piece {
  unsigned cluster, turn, tile, first, count;
};

/// The pieces of all clusters, each in its order, for tiles of 128 × 128.
std::vector<Piece> pieces(int stream, int rows, int columns, int k, unsigned clusters) {
  const EmulatedKernel kernel("#include <cuda_bf16.h>\n#include \"device/config.cuh\"\n" +
                              config(128, 128, 0, stream, R"(bias{"no"}, act{"none"}, residual{"no"})") + R"cu(
#include "gemm/stream_schedule.cuh"
template <class>
__global__ void kernel(unsigned* told, unsigned most, int rows, int columns, int k) {
  gemm::StreamSchedule<Fixed> schedule(rows, columns, k, 0);
  unsigned* to = told + blockIdx.x * most * 3;
  for (; !schedule.done(); schedule.skip()) {
    const auto work = schedule.work();
    *to++ = work.tile;
    *to++ = work.first;
    *to++ = work.count;
  }
}
)cu");
  constexpr unsigned kMost = 64;
  std::vector<unsigned> told(std::size_t{clusters} * kMost * 3);
  EXPECT_EQ(kernel.run(extents(clusters, 1), told.data(), unsigned{kMost}, rows, columns, k).text, "");
  std::vector<Piece> all;
  for (unsigned cluster = 0; cluster < clusters; ++cluster) {
    for (unsigned turn = 0; turn < kMost; ++turn) {
      const unsigned* from = &told[(std::size_t{cluster} * kMost + turn) * 3];
      if (from[2] > 0) all.push_back({cluster, turn, from[0], from[1], from[2]});
    }
  }
  return all;
}

/// Expects each part of k of each tile once, and equal work for each cluster.
void expect_covered(int rows, int columns, unsigned clusters) {
  const unsigned tiles = static_cast<unsigned>((rows + 127) / 128 * ((columns + 127) / 128));
  constexpr unsigned kBlocks = 11;
  std::map<unsigned, std::vector<std::pair<unsigned, unsigned>>> ranges;
  std::map<unsigned, unsigned> work;
  for (const Piece& piece : pieces(1, rows, columns, int{64 * kBlocks - 8}, clusters)) {
    ranges[piece.tile].emplace_back(piece.first, piece.count);
    work[piece.cluster] += piece.count;
  }
  EXPECT_EQ(ranges.size(), tiles);
  for (auto& [tile, parts] : ranges) {
    std::ranges::sort(parts);
    unsigned next = 0;
    for (const auto& [first, count] : parts) {
      EXPECT_EQ(first, next) << "tile " << tile;
      next += count;
    }
    EXPECT_EQ(next, kBlocks) << "tile " << tile;
  }
  for (const auto& [cluster, blocks] : work) {
    EXPECT_NEAR(blocks, static_cast<double>(tiles) * kBlocks / clusters, 1) << "cluster " << cluster;
  }
}

TEST(GemmStream, multiplies_every_part_of_k_of_every_tile_once_and_evenly) {
  expect_covered(640, 256, 7);
  expect_covered(640, 640, 7);
  expect_covered(300, 200, 16);
  expect_covered(896, 128, 7);
}

// Blocks that wait only for earlier ones cannot deadlock.
TEST(GemmStream, leaves_parts_to_later_clusters_alone_and_first) {
  for (const unsigned clusters : {5u, 7u, 12u}) {
    std::map<unsigned, unsigned> has_end;
    const std::vector<Piece> all = pieces(1, 1000, 200, 704, clusters);
    for (const Piece& piece : all) {
      if (piece.first + piece.count == 11) has_end[piece.tile] = piece.cluster;
    }
    for (const Piece& piece : all) {
      if (piece.first + piece.count == 11) continue;
      EXPECT_EQ(piece.turn, 0U) << "what others wait for comes first";
      EXPECT_GT(has_end.at(piece.tile), piece.cluster);
    }
  }
}

TEST(GemmStream, has_whole_tiles_alone_where_it_is_told_to_or_waves_are_full) {
  for (const Piece& piece : pieces(0, 1000, 200, 704, 7)) EXPECT_EQ(piece.count, 11U);
  for (const Piece& piece : pieces(1, 896, 256, 704, 7)) EXPECT_EQ(piece.count, 11U);
}

float value_of(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
std::uint16_t bits_of(float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16); }

/// Replaces the copy to c, which the emulator does not model: the map holds c, its extents, and a box's rows and
/// 16-byte units.
constexpr const char* kTensorStore = R"cu(
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/tensor_copy.cuh"
#include "device/shared.cuh"
namespace tilewright::ptx {
inline void tensor_store(const TensorMap& map, i32 x, i32 y, const void* shared) {
  const int n = static_cast<int>(map.opaque[1]), m = static_cast<int>(map.opaque[2]);
  const int units = static_cast<int>(map.opaque[4]);
  for (int row = 0; row < static_cast<int>(map.opaque[3]); ++row) {
    for (int unit = 0; unit < units; ++unit) {
      if (y + row >= m || x + unit * 8 >= n) continue;
      const int swizzled = unit ^ (units == 8 ? row & 7 : row / 2 & 3);
      bulk_store(reinterpret_cast<__nv_bfloat16*>(map.opaque[0]) + i64{y + row} * n + x + unit * 8,
                 static_cast<const unsigned char*>(shared) + (row * units + swizzled) * 16, 16);
    }
  }
}
}  // namespace tilewright::ptx
template <class G>
tilewright::TensorMap map_of(__nv_bfloat16* c, int m, int n) {
  return {{reinterpret_cast<unsigned long long>(c), static_cast<unsigned long long>(n),
           static_cast<unsigned long long>(m), G::kSwap ? G::kStoreColumns : G::kStoreRows, G::kSwap ? 8 : 4}};
}
)cu";

/// Sums are row % 32 · 4 + column % 4 of c; odd columns have a bias of -256, odd rows a residual of 128.
void expect_stored(int block_m, int block_n, int swap, int m, int n, bool has_epilogue) {
  const EmulatedKernel kernel("#include <cuda_bf16.h>\n#include \"device/config.cuh\"\n" +
                              config(block_m, block_n, swap, 0,
                                     has_epilogue ? R"(bias{"yes"}, act{"relu"}, residual{"yes"})"
                                                  : R"(bias{"no"}, act{"none"}, residual{"no"})") +
                              kTensorStore + R"cu(
#include "gemm/stream_store.cuh"
template <class>
__global__ void kernel(const __nv_bfloat16* bias, const __nv_bfloat16* residual, __nv_bfloat16* c, int m, int n) {
  using namespace gemm;
  using G = StreamGeometry<Fixed>;
  auto& buffers = *shared_storage<StreamStore<Fixed>::Buffers>();
  const TensorMap map = map_of<G>(c, m, n);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const StreamStore<Fixed> out{map, bias, residual, c, m, n, 0, warp, lane};
  for (int row = 0; row < (G::kSwap ? n : m); row += G::kWarpgroupRows) {
    for (int column = 0; column < (G::kSwap ? m : n); column += G::kColumns) {
      float sums[G::kSlabs][G::kSums];
      for (int slab = 0; slab < G::kSlabs; ++slab) {
        for (int i = 0; i < G::kSums; ++i) {
          const int r = row + slab * 64 + warp * 16 + lane / 4 + i / 2 % 2 * 8;
          const int q = column + i / 4 * 8 + lane % 4 * 2 + i % 2;
          sums[slab][i] = static_cast<float>((G::kSwap ? q : r) % 32 * 4 + (G::kSwap ? r : q) % 4);
        }
      }
      out.store(buffers, sums, row, column);
    }
  }
  out.drain();
}
)cu");
  std::vector<std::uint16_t> bias(static_cast<std::size_t>(n)), residual(static_cast<std::size_t>(m * n));
  for (int i = 0; i < n; ++i) bias[static_cast<std::size_t>(i)] = bits_of(i % 2 == 0 ? 0.0f : -256.0f);
  for (int i = 0; i < m * n; ++i) residual[static_cast<std::size_t>(i)] = bits_of(i / n % 2 == 0 ? 0.0f : 128.0f);
  std::vector<std::uint16_t> c(residual.size(), 0xffff);
  ASSERT_EQ(kernel.run(extents(1, 128, 8192), bias.data(), residual.data(), c.data(), m, n).text, "");
  for (int i = 0; i < m * n; ++i) {
    const int row = i / n, column = i % n;
    float expected = static_cast<float>(row % 32 * 4 + column % 4);
    if (has_epilogue) {
      expected = std::max(0.0f, expected - (column % 2 == 0 ? 0.0f : 256.0f)) + (row % 2 == 0 ? 0.0f : 128.0f);
    }
    ASSERT_EQ(value_of(c[static_cast<std::size_t>(i)]), expected)
        << block_m << 'x' << block_n << " swap " << swap << ", row " << row << ", column " << column;
  }
}

TEST(GemmStream, stores_tiles_of_any_multiple_of_8_as_they_are_and_swapped) {
  for (const int block_n : {64, 72, 88, 136, 200}) {
    for (const int swap : {0, 1}) {
      for (const int block_m : {128, 256}) expect_stored(block_m, block_n, swap, 141, 152, false);
    }
  }
}

TEST(GemmStream, adds_bias_and_residual_as_they_are_and_swapped) {
  for (const int swap : {0, 1}) expect_stored(128, 104, swap, 99, 120, true);
}

struct Shared {
  int block_m, block_n, halves, parts, cluster_m;
};

/// Each block of the cluster has (its part's number + 1) · (row % 3 + column % 5) for c.
void expect_shared(const Shared& tile, int m, int n) {
  const int rows = tile.block_m * tile.cluster_m;
  const EmulatedKernel kernel("#include <cuda_bf16.h>\n#include \"device/config.cuh\"\n" +
                              fmt::format(R"cu(
struct Fixed {{
  using dtype = __nv_bfloat16;
  static constexpr int block_m = {}, block_n = {}, swap = 1, stream = 0, halves = {}, pingpong = 0, stages = 3;
  static constexpr int parts = {}, cluster_m = {}, cluster_n = 1, group = 1;
  static constexpr Name bias{{"no"}}, act{{"none"}}, residual{{"yes"}};
}};
)cu",
                                          tile.block_m, tile.block_n, tile.halves, tile.parts, tile.cluster_m) +
                              kTensorStore + R"cu(
#include "gemm/stream_schedule.cuh"
#include "gemm/stream_share.cuh"
template <class>
__global__ void kernel(__nv_bfloat16* c, int m, int n) {
  using namespace gemm;
  using G = StreamGeometry<Fixed>;
  auto& storage = *shared_storage<G::Storage>();
  const int thread = static_cast<int>(threadIdx.x) % 128, own = static_cast<int>(threadIdx.x) / 128;
  const StreamSchedule<Fixed> schedule(n, m, 64 * 40, ptx::cluster_rank());
  const auto work = schedule.work();
  const i64 first_row = work.row + (G::kHalves ? 0 : own * G::kWarpgroupRows);
  const i64 first_column = work.column + (G::kHalves ? own * G::kWarpgroupColumns : 0);
  const TensorMap map = map_of<G>(c, m, n);
  const StreamStore<Fixed> out{map, nullptr, c, c, m, n, own, thread / 32, thread % 32};
  float sums[G::kSlabs][G::kSums];
  for (int slab = 0; slab < G::kSlabs; ++slab) {
    for (int i = 0; i < G::kSums; ++i) {
      const i64 r = first_row + slab * 64 + thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
      const i64 q = first_column + i / 4 * 8 + thread % 4 * 2 + i % 2;
      sums[slab][i] = static_cast<float>((schedule.rank_part + 1) * (q % 3 + r % 5));
    }
  }
  StreamShare<Fixed>::store(storage, out, sums, schedule.rank_part, first_row, first_column);
  out.drain();
  ptx::cluster_sync();
}
)cu");
  // The store adds to the old values, which exposes elements stored twice.
  std::vector<std::uint16_t> c(static_cast<std::size_t>(m * n), bits_of(1.0f));
  const int clusters = (n + rows - 1) / rows * ((m + tile.block_n - 1) / tile.block_n);
  const std::size_t shared =
      std::size_t{3} * static_cast<std::size_t>(tile.block_m + tile.block_n) * 128 + 16384 + 1024;
  EmulatedLaunch launch = extents(static_cast<unsigned>(clusters * tile.cluster_m * tile.parts), 256, shared);
  launch.cluster = {static_cast<unsigned>(tile.cluster_m * tile.parts), 1, 1};
  ASSERT_EQ(kernel.run(launch, c.data(), m, n).text, "");
  const int parts = tile.parts * (tile.parts + 1) / 2;
  for (int i = 0; i < m * n; ++i) {
    ASSERT_EQ(value_of(c[static_cast<std::size_t>(i)]), static_cast<float>(1 + parts * (i / n % 3 + i % n % 5)))
        << tile.block_n << " columns, " << tile.parts << " parts, row " << i / n << ", column " << i % n;
  }
}

TEST(GemmStream, adds_up_the_parts_of_a_cluster_and_stores_each_element_once) {
  for (const int parts : {2, 3, 5, 8}) {
    expect_shared({.block_m = 128, .block_n = 72, .halves = 0, .parts = parts, .cluster_m = 1}, 70, 200);
  }
  expect_shared({.block_m = 64, .block_n = 112, .halves = 1, .parts = 4, .cluster_m = 2}, 105, 136);
  expect_shared({.block_m = 256, .block_n = 80, .halves = 0, .parts = 2, .cluster_m = 1}, 141, 264);
}

}  // namespace
}  // namespace tilewright::test::gemm_stream_test
