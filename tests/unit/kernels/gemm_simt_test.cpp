// SPDX-License-Identifier: Apache-2.0
// gemm without tensor cores, and the shared epilogue.
#include "tests/unit/kernels/gemm.hpp"

namespace tilewright::test::gemm_simt_test {
namespace {

constexpr const char* kBase = "simt{block_m=64,block_n=64,block_k=16,split_k=1}";

TEST(GemmSimt, is_right_for_every_layout_and_dtype_at_shapes_that_no_tile_divides) {
  for (const char* dtype : kDtypes) {
    for (const char* layout : kLayouts) {
      expect_right({.dtype = dtype, .layout = layout, .m = 67, .n = 71, .k = 37}, kBase);
    }
  }
}

TEST(GemmSimt, is_right_from_one_element_on) {
  for (const char* layout : kLayouts) {
    expect_right({.layout = layout, .m = 1, .n = 1, .k = 1}, kBase);
    expect_right({.layout = layout, .m = 1, .n = 130, .k = 3}, kBase);
    expect_right({.layout = layout, .m = 130, .n = 2, .k = 16}, kBase);
    expect_right({.layout = layout, .m = 5, .n = 3, .k = 200}, kBase);
  }
}

TEST(GemmSimt, is_right_with_each_of_its_tiles) {
  for (const char* config :
       {"simt{block_m=64,block_n=128,block_k=16,split_k=1}", "simt{block_m=128,block_n=64,block_k=16,split_k=1}",
        "simt{block_m=128,block_n=128,block_k=8,split_k=1}"}) {
    // As many tiles as the emulator has multiprocessors.
    expect_right({.dtype = "f32", .layout = "nn", .m = 129, .n = 2100, .k = 19}, config);
  }
}

TEST(GemmSimt, adds_parts_of_k_in_their_order) {
  for (const int split_k : {2, 4}) {
    const Product product{
        .dtype = "f32", .layout = "tn", .m = 65, .n = 140, .k = 515, .act = "relu", .residual = "yes"};
    expect_right(product, fmt::format("simt{{block_m=128,block_n=128,block_k=8,split_k={}}}", split_k),
                 {.in_place = true});
  }
}

TEST(GemmSimt, is_right_with_every_epilogue) {
  constexpr const char* kYesNo[] = {"no", "yes"};
  int i = 0;
  for (const char* act : {"none", "relu", "leaky_relu", "gelu", "gelu_erf", "silu"}) {
    for (const char* residual : kYesNo) {
      const char* const dtype = kDtypes[i++ % 3];
      expect_right(
          {.dtype = dtype, .m = 9, .n = 20, .k = 8, .bias = kYesNo[i / 2 % 2], .act = act, .residual = residual},
          kBase);
    }
  }
}

TEST(GemmSimt, serves_addresses_that_are_only_element_aligned) {
  for (const char* dtype : {"f32", "bf16"}) {
    const Product product{.dtype = dtype, .m = 9, .n = 20, .k = 8, .bias = "yes", .residual = "yes"};
    for (const int shift : {1, 2, 3}) expect_right(product, kBase, {.seed = 5, .misalign_elements = shift});
  }
}

TEST(GemmSimt, may_write_over_the_residual) {
  for (const int n : {19, 20}) {
    expect_right({.m = 70, .n = n, .k = 8, .act = "silu", .residual = "yes"}, kBase, {.seed = 5, .in_place = true});
  }
}

TEST(GemmSimt, counts_for_tf32_too_as_the_base) {
  expect_right({.dtype = "f32", .m = 9, .n = 20, .k = 8, .math = "tf32"}, kBase);
}

}  // namespace
}  // namespace tilewright::test::gemm_simt_test
