// SPDX-License-Identifier: Apache-2.0
// gemm by mma.sync: fragments of all layouts and types, edges, parts of k.
#include "tests/unit/kernels/gemm.hpp"

namespace tilewright::test::gemm_mma_test {
namespace {

/// A dtype with the math that tensor cores use for it, and the copies and the block of k of its smallest config.
struct Kind {
  const char* dtype;
  const char* math;
  int block_k;
};
constexpr Kind kKinds[] = {{"bf16", "ieee", 32}, {"f16", "ieee", 64}, {"f32", "tf32", 16}, {"f32", "tf32", 32}};

std::string config(int block_m, int block_n, int block_k, int warp_m, int warp_n, int stages, int split_k, int vec,
                   int group = 1) {
  return fmt::format("mma{{block_m={},block_n={},block_k={},warp_m={},warp_n={},stages={},split_k={},group={},vec={}}}",
                     block_m, block_n, block_k, warp_m, warp_n, stages, split_k, group, vec);
}

TEST(GemmMma, is_right_for_every_layout_and_dtype_at_shapes_that_no_tile_divides) {
  for (const auto& [dtype, math, block_k] : kKinds) {
    for (const char* layout : kLayouts) {
      const Product product{.dtype = dtype, .layout = layout, .m = 72, .n = 136, .k = 104, .math = math};
      expect_right(product, config(64, 64, block_k, 32, 32, 3, 1, 16));
    }
  }
}

TEST(GemmMma, is_right_with_every_tile_whatever_the_layout) {
  // The space's blocks and warp tiles, with alternating types and layouts.
  constexpr int kTiles[][4] = {{256, 128, 64, 64}, {128, 256, 64, 64}, {128, 128, 64, 64}, {128, 128, 64, 32},
                               {128, 64, 64, 32},  {64, 128, 64, 32},  {32, 64, 16, 32},   {32, 128, 32, 32}};
  int i = 0;
  for (const auto& [block_m, block_n, warp_m, warp_n] : kTiles) {
    const auto& [dtype, math, block_k] = kKinds[i % 4];
    const Product product{.dtype = dtype,
                          .layout = kLayouts[i++ % 3],
                          .m = block_m == 32 ? 24 : 248,
                          .n = block_m * block_n == 2048 ? 176 : 264,
                          .k = 72,
                          .math = math,
                          .bias = "yes"};
    const bool bands = (248 + block_m - 1) / block_m >= 4 && block_m > 32;
    expect_right(product, config(block_m, block_n, block_k, warp_m, warp_n, 3, 1, 16, bands ? 8 : 1));
  }
}

TEST(GemmMma, is_right_with_each_count_of_stages_from_fewer_blocks_of_k_to_more) {
  for (const int stages : {3, 4}) {
    for (const int k : {32 * (stages - 1) - 8, 32 * stages, 32 * stages + 40}) {
      expect_right({.m = 40, .n = 48, .k = k}, config(64, 64, 32, 32, 32, stages, 1, 16));
    }
  }
  for (const int k : {8, 40, 200}) {
    const Product product{.dtype = "f32", .m = 136, .n = 104, .k = k, .math = "tf32"};
    expect_right(product, config(128, 128, 32, 64, 32, 2, 1, 16));
  }
}

TEST(GemmMma, takes_copies_as_narrow_as_the_rows_ask_for) {
  int i = 0;
  for (const int vec : {2, 4, 8}) {
    for (const char* layout : kLayouts) {
      const auto& [dtype, math, block_k] = kKinds[vec == 2 ? i++ % 2 : i++ % 4];
      const int odd = 9 * vec / (math[0] == 't' ? 4 : 2);
      const Product product{.dtype = dtype, .layout = layout, .m = odd, .n = 5 * odd, .k = 3 * odd, .math = math};
      expect_right(product, config(32, 64, block_k, 16, 32, 3, 1, vec));
    }
  }
}

TEST(GemmMma, is_right_from_one_element_on) {
  expect_right({.layout = "tn", .m = 1, .n = 1, .k = 1}, config(32, 64, 32, 16, 32, 3, 1, 2));
  expect_right({.dtype = "f32", .layout = "nn", .m = 1, .n = 1, .k = 1, .math = "tf32"},
               config(32, 64, 16, 16, 32, 3, 1, 4));
}

TEST(GemmMma, adds_parts_of_k_in_their_order) {
  for (const auto& [dtype, math, block_k] : kKinds) {
    const int split_k = block_k == 32 ? 4 : 2;
    const Product product{.dtype = dtype,
                          .layout = "nn",
                          .m = 40,
                          .n = 72,
                          .k = 256 * split_k + 8,
                          .math = math,
                          .act = "silu",
                          .residual = "yes"};
    expect_right(product, config(64, 64, block_k, 32, 32, 3, split_k, 16), {.seed = 2, .in_place = true});
  }
}

TEST(GemmMma, serves_c_and_bias_at_any_address) {
  // Operands must lie at multiples of a copy, so the shift is one copy.
  const Product product{.m = 36, .n = 66, .k = 34, .bias = "yes", .residual = "yes"};
  expect_right(product, config(64, 64, 32, 32, 32, 3, 1, 4), {.seed = 3, .misalign_elements = 2});
  const Product odd{.m = 36, .n = 67, .k = 35, .bias = "yes", .residual = "yes"};
  expect_right(odd, config(64, 64, 32, 32, 32, 3, 1, 2), {.seed = 3, .misalign_elements = 1});
}

}  // namespace
}  // namespace tilewright::test::gemm_mma_test
