// SPDX-License-Identifier: Apache-2.0
// kernels/gemm/wgmma_store.cuh: tiles leave through buffers of shared memory. A replacement for the tensor copy, which
// the emulator does not model, reads whole buffers as late as its waits allow.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::gemm_store_test {
namespace {

/// A kernel that stores each tile filled with its number, from 1. `columns`: a tile's columns.
EmulatedKernel store_kernel(int columns) {
  return EmulatedKernel(fmt::format(R"cu(
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/tensor_copy.cuh"
#include "device/shared.cuh"
namespace tilewright::ptx {{
// The map has where buffers go, and the bytes of one.
inline void tensor_store(const TensorMap& map, i32 x, i32 y, const void* shared) {{
  const u32 bytes = static_cast<u32>(map.opaque[1]);
  const i32 pieces_of_row = {0} * 2 * 64 / static_cast<i32>(bytes), columns = {0} / pieces_of_row;
  bulk_store(reinterpret_cast<unsigned char*>(map.opaque[0]) + (y / 64 * pieces_of_row + x / columns) * i64{{bytes}},
             shared, bytes);
}}
}}  // namespace tilewright::ptx
#include "gemm/wgmma_store.cuh"
struct Fixed {{
  using dtype = __nv_bfloat16;
  static constexpr Name layout{{"nt"}}, bias{{"no"}}, act{{"none"}}, residual{{"no"}}, implementation{{"wgmma"}};
  static constexpr int block_m = 64, block_n = {0}, block_k = 64, consumers = 1, pingpong = 0, tensor_store = 1,
                       split_k = 1, cluster_k = 1, stages = 1, cluster_m = 1, cluster_n = 1, group = 1;
}};
template <class>
__global__ void kernel(unsigned char* stored, int tiles) {{
  using namespace gemm;
  using Store = TileStore<Fixed>;
  using G = Geometry<Fixed>;
  auto& storage = *shared_storage<G::Storage>();
  const int thread = static_cast<int>(threadIdx.x);
  const TensorMap map{{{{reinterpret_cast<unsigned long long>(stored), G::kStoreBytes}}}};
  const Store out{{map, nullptr, nullptr, nullptr, tiles * 64, {0}, 0, thread / 32, thread % 32}};
  for (int tile = 0; tile < tiles; ++tile) {{
    float sums[G::kSlabs][G::kSums];
    for (int i = 0; i < G::kSums; ++i) sums[0][i] = static_cast<float>(tile + 1);
    Store::Ahead ahead;
    out.store(storage, sums, ahead, tile * 64, 0);
  }}
  out.drain();
}}
)cu",
                                    columns));
}

// A tile of 64 columns takes one buffer, of 96 three, of 128 two: an odd number starts and ends with the same buffer.
TEST(GemmStore, leaves_a_buffer_alone_until_it_has_been_read_whatever_the_number_of_pieces) {
  constexpr std::size_t kTiles = 5;
  for (const int columns : {64, 96, 128, 160, 192}) {
    std::vector<std::uint16_t> stored(kTiles * 64 * static_cast<std::size_t>(columns));
    const EmulatedOutcome outcome = store_kernel(columns).run(
        extents(1, 128, 200 * 1024), reinterpret_cast<unsigned char*>(stored.data()), int{kTiles});
    ASSERT_EQ(outcome.text, "") << columns;
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const float expected = static_cast<float>(i / (stored.size() / kTiles) + 1);
      ASSERT_EQ(std::bit_cast<float>(std::uint32_t{stored[i]} << 16), expected) << columns << " columns, element " << i;
    }
  }
}

}  // namespace
}  // namespace tilewright::test::gemm_store_test
