// SPDX-License-Identifier: Apache-2.0
// The op `bias_act_dropout_bwd`, and strips.cuh and ring_strips.cuh of kernels/device/elementwise.
#include <fmt/format.h>

#include "tests/unit/kernels/elementwise.hpp"

namespace tilewright::test::bias_act_dropout_bwd_test {
namespace {

BuiltInOp& op() {
  static BuiltInOp op("bias_act_dropout_bwd");
  return op;
}

std::string key(const char* act, const char* dtype, int rows, int cols, const char* pitch = "dense") {
  return fmt::format("bias_act_dropout_bwd[dtype={},act={},pitch={}]{{rows={},cols={}}}", dtype, act, pitch, rows,
                     cols);
}

TEST(BiasActDropoutBwd, is_right_for_every_activation) {
  for_acts_and_dtypes([](const char* act, const char* dtype) {
    expect_right(op(), key(act, dtype, 37, 64), "strips", 2);
    expect_right(op(), key(act, dtype, 37, 64), "ring", 1);
    expect_right_base(op(), key(act, dtype, 37, 61));
  });
}

TEST(BiasActDropoutBwd, is_right_for_few_and_for_many_rows_and_columns) {
  for (const char* dtype : kDtypes) {
    for (const auto& [rows, cols] : {std::pair(1, 1), {2, 3}, {200, 64}, {5, 1000}}) {
      expect_right_base(op(), key("gelu", dtype, rows, cols));
      if (cols < 64) continue;
      expect_right(op(), key("gelu", dtype, rows, cols), "strips", 2);
      expect_right(op(), key("gelu", dtype, rows, cols), "ring", 2);
    }
  }
}

TEST(BiasActDropoutBwd, takes_pitches_and_element_aligned_addresses) {
  for (const char* dtype : kDtypes) {
    for (const char* way : {"strips", "ring"}) expect_right(op(), key("silu", dtype, 37, 64, "strided"), way, 2);
    expect_right_base(op(), key("silu", dtype, 9, 257, "strided"), {.seed = 7, .misalign_elements = 3});
  }
}

TEST(BiasActDropoutBwd, may_write_over_either_matrix_that_it_reads) {
  const ArgumentSet::Options options{.seed = 3, .in_place = true};
  expect_in_place(op(), key("tanh", "bf16", 37, 61), {"dx = x", "dx = dy"});
  expect_right_base(op(), key("tanh", "bf16", 37, 61), options);
  expect_right_base(op(), key("tanh", "bf16", 37, 61, "strided"), options);
  for (const char* way : {"strips", "ring"}) expect_right(op(), key("tanh", "bf16", 37, 64), way, 3, options);
}

}  // namespace
}  // namespace tilewright::test::bias_act_dropout_bwd_test
