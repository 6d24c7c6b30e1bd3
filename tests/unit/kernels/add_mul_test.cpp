// SPDX-License-Identifier: Apache-2.0
// The ops `add` and `mul`: the flat skeleton with two inputs.
#include <fmt/format.h>

#include "tests/unit/kernels/elementwise.hpp"

namespace tilewright::test {
namespace {

class AddAndMul : public ::testing::TestWithParam<const char*> {
 protected:
  static BuiltInOp& op() {
    static BuiltInOp add("add");
    static BuiltInOp mul("mul");
    return GetParam() == std::string("add") ? add : mul;
  }
  static std::string key(const char* dtype, const char* act, int n) {
    return fmt::format("{}[dtype={},act={}]{{n={}}}", GetParam(), dtype, act, n);
  }
};

TEST_P(AddAndMul, are_right_for_every_activation_and_dtype) {
  for_acts_and_dtypes([](const char* act, const char* dtype) { expect_right_base(op(), key(dtype, act, 517)); });
}

TEST_P(AddAndMul, are_right_for_any_length) {
  for (const char* dtype : kDtypes) {
    for (const int n : {1, 7, 2048, 6151}) expect_right(op(), key(dtype, "none", n), "flat", 4);
  }
}

TEST_P(AddAndMul, serve_addresses_that_are_only_element_aligned) {
  for (const char* dtype : kDtypes) {
    for (const int shift : {1, 2, 3}) {
      expect_right_base(op(), key(dtype, "none", 517), {.seed = 7, .misalign_elements = shift});
    }
  }
}

TEST_P(AddAndMul, may_write_over_their_first_input) {
  expect_right(op(), key("f16", "none", 6151), "flat", 4, {.seed = 3, .in_place = true});
}

INSTANTIATE_TEST_SUITE_P(Ops, AddAndMul, ::testing::Values("add", "mul"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace tilewright::test
