// SPDX-License-Identifier: Apache-2.0
// The op `activation`, and the skeleton device/elementwise/flat.cuh.
#include <fmt/format.h>

#include "tests/unit/kernels/elementwise.hpp"

namespace tilewright::test::activation_op_test {
namespace {

BuiltInOp& activation() {
  static BuiltInOp op("activation");
  return op;
}

TEST(ActivationOp, is_right_for_every_activation_and_dtype) {
  for_acts_and_dtypes([](const char* act, const char* dtype) {
    if (act != std::string("none")) {
      expect_right_base(activation(), fmt::format("activation[dtype={},act={}]{{n=1037}}", dtype, act));
    }
  });
}

TEST(ActivationOp, is_right_for_any_length) {
  for (const char* dtype : kDtypes) {
    for (const int n : {1, 7, 8, 1023, 2048, 6151}) {
      expect_right(activation(), fmt::format("activation[dtype={},act=relu]{{n={}}}", dtype, n), "flat", 2);
      expect_right_base(activation(), fmt::format("activation[dtype={},act=relu]{{n={}}}", dtype, n));
    }
  }
}

TEST(ActivationOp, walks_tiles_with_resident_blocks) {
  const Problem problem = activation().problem("activation[dtype=bf16,act=relu]{n=262147}");
  const Config config = Config::parse("flat{num_warps=4,vec=8,unroll=4,ragged=0,persistent=1,hints=2}");
  EXPECT_EQ(activation().fault(problem, config), "");
}

TEST(ActivationOp, serves_addresses_that_are_only_element_aligned) {
  for (const char* dtype : kDtypes) {
    for (const int shift : {1, 3}) {
      for (const int n : {2, 1037}) {
        expect_right_base(activation(), fmt::format("activation[dtype={},act=relu]{{n={}}}", dtype, n),
                          {.seed = 7, .misalign_elements = shift});
      }
    }
  }
}

TEST(ActivationOp, may_write_over_its_input) {
  const std::string key = "activation[dtype=bf16,act=relu]{n=6151}";
  expect_right(activation(), key, "flat", 4, {.seed = 3, .in_place = true});
  expect_right_base(activation(), key, {.seed = 3, .in_place = true});
}

}  // namespace
}  // namespace tilewright::test::activation_op_test
