// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/unit/kernels/elementwise.hpp"

namespace tilewright::test::swiglu_test {
namespace {

BuiltInOp& swiglu() {
  static BuiltInOp op("swiglu");
  return op;
}

class Swiglu : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string key(const char* layout, int rows, int cols, const char* pitch = "dense") {
    return fmt::format("swiglu[dtype={},layout={},pitch={}]{{rows={},cols={}}}", GetParam(), layout, pitch, rows, cols);
  }
};

TEST_P(Swiglu, is_right_in_every_layout_at_odd_and_at_whole_widths) {
  for (const char* layout : {"split", "packed"}) {
    for (const char* pitch : {"dense", "strided"}) {
      for (const int cols : {61, 64}) {
        expect_right(swiglu(), key(layout, 37, cols, pitch), "tiled", 1);
        expect_right_base(swiglu(), key(layout, 37, cols, pitch));
      }
    }
  }
}

TEST_P(Swiglu, sees_dense_matrices_as_one_row) {
  expect_right(swiglu(), key("split", 37, 61), "flat", 2);
  EXPECT_TRUE(swiglu().sample(swiglu().problem(key("packed", 37, 61)), "flat", 1).empty());
  EXPECT_TRUE(swiglu().sample(swiglu().problem(key("split", 37, 61, "strided")), "flat", 1).empty());
}

TEST_P(Swiglu, goes_over_dense_packed_matrices_as_one_row) {
  // Single elements, vectors of four and the longest vectors; the last tile is partial.
  for (const int cols : {1, 61, 257, 60, 64}) expect_right(swiglu(), key("packed", 37, cols), "dense", 2);
  // Whole tiles of several vectors a thread, and a partial one.
  for (const std::string tail : {",static_dims=1,hints=1}", ",static_dims=0,hints=1}"}) {
    EXPECT_EQ(swiglu().fault(swiglu().problem(key("packed", 270, 60)),
                             Config::parse("dense{num_warps=4,vec=4,unroll=4" + tail)),
              "");
    EXPECT_EQ(swiglu().fault(swiglu().problem(key("packed", 70, 61)),
                             Config::parse("dense{num_warps=4,vec=1,unroll=8" + tail)),
              "");
  }
  EXPECT_TRUE(swiglu().sample(swiglu().problem(key("split", 37, 61)), "dense", 1).empty());
  EXPECT_TRUE(swiglu().sample(swiglu().problem(key("packed", 37, 61, "strided")), "dense", 1).empty());
  EXPECT_FALSE(swiglu().sample(swiglu().problem(key("packed", 65535, 32767)), "dense", 1).empty());
  EXPECT_TRUE(swiglu().sample(swiglu().problem(key("packed", 65536, 32768)), "dense", 1).empty());
}

TEST_P(Swiglu, is_right_from_one_column_on) {
  for (const int cols : {1, 3, 13}) {
    for (const char* layout : {"split", "packed"}) expect_right_base(swiglu(), key(layout, 11, cols));
  }
}

TEST_P(Swiglu, serves_addresses_that_are_only_element_aligned) {
  for (const char* layout : {"split", "packed"}) {
    for (const int shift : {1, 3}) {
      expect_right_base(swiglu(), key(layout, 5, 64), {.seed = 7, .misalign_elements = shift});
    }
  }
  expect_right(swiglu(), key("packed", 5, 61), "dense", 1, {.seed = 7, .misalign_elements = 3});
}

TEST_P(Swiglu, may_write_over_the_gate) {
  expect_right(swiglu(), key("split", 37, 61), "tiled", 1, {.seed = 3, .in_place = true});
  expect_right(swiglu(), key("split", 37, 61), "flat", 2, {.seed = 3, .in_place = true});
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Swiglu, ::testing::ValuesIn(kDtypes),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace tilewright::test::swiglu_test
