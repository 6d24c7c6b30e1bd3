// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/unit/kernels/built_in_op.hpp"

namespace tilewright::softmax_test {
namespace {

BuiltInOp& softmax() {
  static BuiltInOp op("softmax");
  return op;
}

/// All implementations at shapes that they can serve, in one dtype; enough configs to reach each code path.
class Softmax : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static Problem shape(int rows, int cols) {
    return softmax().problem(fmt::format("softmax[dtype={}]{{rows={},cols={}}}", GetParam(), rows, cols));
  }
};

TEST_P(Softmax, is_right_on_chip_at_odd_and_at_whole_widths) {
  for (const Problem& problem : {shape(3, 61), shape(5, 256)}) {
    for (const Config& config : softmax().sample(problem, "onchip", 6)) {
      EXPECT_EQ(softmax().fault(problem, config), "");
    }
  }
}

TEST_P(Softmax, is_right_staged_in_one_stage_and_in_a_ring_at_whole_and_at_odd_widths) {
  for (const Problem& problem : {shape(5, 2048), shape(7, 2051)}) {
    const auto configs = softmax().sample(problem, "staged", 2);
    ASSERT_FALSE(configs.empty());
    for (const Config& config : configs) EXPECT_EQ(softmax().fault(problem, config), "");
  }
}

TEST_P(Softmax, is_right_over_clusters_in_one_stage_and_in_a_ring_at_whole_and_at_odd_widths) {
  for (const Problem& problem : {shape(5, 16384), shape(5, 16389)}) {
    const auto configs = softmax().sample(problem, "cluster", 2);
    ASSERT_FALSE(configs.empty());
    for (const Config& config : configs) EXPECT_EQ(softmax().fault(problem, config), "");
  }
}

TEST_P(Softmax, is_right_by_clusters_that_hold_a_row_or_keep_their_columns) {
  for (const auto& [implementation, cols] : {std::pair{"held_cluster", 65536},
                                             {"held_cluster", 65544},
                                             {"kept", 65536},
                                             {"kept", 65541},
                                             {"cluster_async", 65536},
                                             {"cluster_async", 65544}}) {
    const Problem problem = shape(5, cols);
    const auto configs = softmax().sample(problem, implementation, 4);
    ASSERT_FALSE(configs.empty()) << implementation << " of " << problem.key();
    for (const Config& config : configs) EXPECT_EQ(softmax().fault(problem, config, {.seed = 3, .in_place = true}), "");
  }
}

TEST_P(Softmax, is_right_streaming_from_one_column_on) {
  const Config base = softmax().definition().base;
  for (const Problem& problem : {shape(1, 1), shape(2, 3), shape(1, 1000), shape(4, 257)}) {
    EXPECT_EQ(softmax().fault(problem, base), "");
  }
}

TEST_P(Softmax, serves_addresses_that_are_only_element_aligned) {
  for (const int shift : {1, 3}) {
    EXPECT_EQ(softmax().fault(shape(3, 61), softmax().definition().base, {.seed = 7, .misalign_elements = shift}), "");
    for (const char* implementation : {"onchip", "staged"}) {
      for (const Config& config : softmax().sample(shape(3, 2051), implementation, 1)) {
        EXPECT_EQ(softmax().fault(shape(3, 2051), config, {.seed = 7, .misalign_elements = shift}), "");
      }
    }
  }
}

TEST_P(Softmax, may_write_over_its_input) {
  const Problem odd = shape(3, 61);
  EXPECT_EQ(softmax().fault(odd, softmax().definition().base, {.seed = 3, .in_place = true}), "");
  for (const Problem& wide : {shape(3, 2048), shape(3, 2051)}) {
    for (const char* implementation : {"onchip", "staged"}) {
      for (const Config& config : softmax().sample(wide, implementation, 2)) {
        EXPECT_EQ(softmax().fault(wide, config, {.seed = 3, .in_place = true}), "");
      }
    }
  }
}

TEST_P(Softmax, works_on_slices_with_a_row_pitch) {
  for (const int cols : {61, 2048, 2051}) {
    const Problem slice =
        softmax().problem(fmt::format("softmax[dtype={},pitch=strided]{{rows=3,cols={}}}", GetParam(), cols));
    EXPECT_EQ(softmax().fault(slice, softmax().definition().base), "");
    for (const char* implementation : {"onchip", "staged"}) {
      for (const Config& config : softmax().sample(slice, implementation, 1)) {
        EXPECT_EQ(softmax().fault(slice, config), "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Softmax, ::testing::Values("f32", "f16", "bf16"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace tilewright::softmax_test
