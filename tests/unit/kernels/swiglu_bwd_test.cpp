// SPDX-License-Identifier: Apache-2.0
// The op `swiglu_bwd`, and the skeleton kernels/device/elementwise/fields.cuh.
#include <fmt/format.h>

#include "tests/unit/kernels/elementwise.hpp"

namespace tilewright::test::swiglu_bwd_test {
namespace {

BuiltInOp& swiglu_bwd() {
  static BuiltInOp op("swiglu_bwd");
  return op;
}

class SwigluBwd : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string key(const char* layout, int rows, int cols, const char* pitch = "dense") {
    return fmt::format("swiglu_bwd[dtype={},layout={},pitch={}]{{rows={},cols={}}}", GetParam(), layout, pitch, rows,
                       cols);
  }
};

TEST_P(SwigluBwd, is_right_in_every_layout_at_odd_and_at_whole_widths) {
  for (const char* layout : {"split", "packed"}) {
    for (const char* pitch : {"dense", "strided"}) {
      for (const int cols : {61, 64}) {
        expect_right(swiglu_bwd(), key(layout, 37, cols, pitch), "fields", 2);
        expect_right_base(swiglu_bwd(), key(layout, 37, cols, pitch));
      }
    }
  }
}

TEST_P(SwigluBwd, is_right_as_one_row_whatever_the_width) {
  for (const int cols : {61, 64}) {
    expect_right(swiglu_bwd(), key("split", 40, cols), "flat", 2);
    expect_right(swiglu_bwd(), key("split", 40, cols), "flat", 1, {.seed = 3, .in_place = true});
  }
}

TEST_P(SwigluBwd, is_right_from_one_column_on) {
  for (const int cols : {1, 3, 13}) {
    for (const char* layout : {"split", "packed"}) expect_right_base(swiglu_bwd(), key(layout, 11, cols));
  }
}

TEST_P(SwigluBwd, serves_addresses_that_are_only_element_aligned) {
  for (const char* layout : {"split", "packed"}) {
    for (const int shift : {1, 3}) {
      expect_right_base(swiglu_bwd(), key(layout, 5, 257, "strided"), {.seed = 7, .misalign_elements = shift});
    }
  }
}

TEST_P(SwigluBwd, may_write_over_what_it_reads) {
  for (const char* layout : {"split", "packed"}) {
    for (const int cols : {64, 257}) {
      expect_right_base(swiglu_bwd(), key(layout, 9, cols), {.seed = 3, .in_place = true});
      expect_right(swiglu_bwd(), key(layout, 9, cols), "fields", 1, {.seed = 3, .in_place = true});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, SwigluBwd, ::testing::ValuesIn(kDtypes),
                         [](const auto& dtype) { return std::string(dtype.param); });

}  // namespace
}  // namespace tilewright::test::swiglu_bwd_test
