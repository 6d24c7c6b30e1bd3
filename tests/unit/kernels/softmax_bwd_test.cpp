// SPDX-License-Identifier: Apache-2.0
// The op `softmax_bwd`, and the skeletons of kernels/device/row/weighed.cuh.
#include <fmt/format.h>

#include "tests/unit/kernels/elementwise.hpp"

namespace tilewright::test::softmax_bwd_test {
namespace {

BuiltInOp& softmax_bwd() {
  static BuiltInOp op("softmax_bwd");
  return op;
}

std::string key(const char* dtype, const char* pitch, int rows, int cols) {
  return fmt::format("softmax_bwd[dtype={},pitch={}]{{rows={},cols={}}}", dtype, pitch, rows, cols);
}

TEST(SoftmaxBwd, is_right_for_narrow_wide_and_odd_rows) {
  for (const char* dtype : kDtypes) {
    for (const auto& [rows, cols] : {std::pair(1, 1), {3, 2}, {5, 64}, {9, 257}, {2, 4099}}) {
      for (const char* pitch : {"dense", "strided"}) {
        expect_right_base(softmax_bwd(), key(dtype, pitch, rows, cols));
        expect_right(softmax_bwd(), key(dtype, pitch, rows, cols), "reread", 1);
      }
    }
  }
}

TEST(SoftmaxBwd, is_right_with_rows_in_registers) {
  for (const char* dtype : kDtypes) {
    for (const auto& [rows, cols] : {std::pair(5, 64), {9, 257}, {3, 1000}, {2, 4096}, {2, 4099}}) {
      expect_right(softmax_bwd(), key(dtype, "dense", rows, cols), "resident", 4);
    }
  }
  expect_right(softmax_bwd(), key("bf16", "strided", 7, 1000), "resident", 3);
}

TEST(SoftmaxBwd, is_right_with_rows_over_clusters) {
  for (const char* implementation : {"cluster", "told"}) {
    expect_right(softmax_bwd(), key("bf16", "dense", 3, 32768), implementation, 3);
    expect_right(softmax_bwd(), key("f32", "strided", 2, 16392), implementation, 1);
    expect_right(softmax_bwd(), key("bf16", "dense", 3, 32776), implementation, 1, {.seed = 3, .in_place = true});
  }
}

TEST(SoftmaxBwd, serves_addresses_that_are_only_element_aligned) {
  for (const char* dtype : kDtypes) {
    for (const int shift : {1, 3}) {
      const ArgumentSet::Options options{.seed = 7, .misalign_elements = shift};
      expect_right_base(softmax_bwd(), key(dtype, "dense", 3, 61), options);
      expect_right_base(softmax_bwd(), key(dtype, "strided", 3, 1000), options);
    }
  }
}

TEST(SoftmaxBwd, may_write_over_either_matrix_that_it_reads) {
  const ArgumentSet::Options options{.seed = 3, .in_place = true};
  expect_in_place(softmax_bwd(), key("bf16", "dense", 5, 257), {"dx = y", "dx = dy"});
  expect_right_base(softmax_bwd(), key("bf16", "strided", 5, 257), options);
  for (const int cols : {257, 1000}) {
    expect_right_base(softmax_bwd(), key("bf16", "dense", 5, cols), options);
    expect_right(softmax_bwd(), key("bf16", "dense", 5, cols), "resident", 3, options);
  }
}

}  // namespace
}  // namespace tilewright::test::softmax_bwd_test
