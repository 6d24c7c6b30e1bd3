// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "cache/base/error.hpp"
#include "tests/unit/kernels/built_in_op.hpp"

namespace tilewright::test::attention_test {
namespace {

BuiltInOp& attention() {
  static BuiltInOp op("attention");
  return op;
}

/// One mask, with and without the other options, by the base and by mma.
class Attention : public ::testing::TestWithParam<const char*> {
 protected:
  static void expect_right(const std::string& dims) {
    for (const char* lse : {"no", "yes"}) {
      for (const char* softcap : {"no", "yes"}) {
        const Problem problem =
            attention().problem(fmt::format("attention[{},lse={},softcap={}]{{{}}}", GetParam(), lse, softcap, dims));
        EXPECT_EQ(attention().fault(problem, attention().definition().base), "");
        if (std::string(lse) != softcap) continue;  // halves the compilations
        const auto configs = attention().sample(problem, "mma", 1);
        EXPECT_FALSE(configs.empty()) << problem.key();
        for (const Config& config : configs) EXPECT_EQ(attention().fault(problem, config), "");
      }
    }
  }
};

TEST_P(Attention, is_right_at_small_shapes_of_all_kinds) {
  expect_right("b=2,hq=4,hkv=2,sq=9,sk=13,d=24,dv=16");
  expect_right("b=1,hq=3,hkv=3,sq=17,sk=17,d=8,dv=8");
}

TEST_P(Attention, is_right_at_the_edges_of_its_domain) {
  expect_right("b=1,hq=2,hkv=1,sq=3,sk=5,d=256,dv=8");
  expect_right("b=1,hq=1,hkv=1,sq=2,sk=3,d=8,dv=256");
  expect_right("b=2,hq=2,hkv=1,sq=1,sk=17,d=40,dv=72");
}

TEST_P(Attention, is_right_where_rows_see_one_key_or_none) {
  expect_right("b=1,hq=2,hkv=2,sq=1,sk=1,d=16,dv=16");
  expect_right("b=1,hq=3,hkv=1,sq=7,sk=3,d=16,dv=24");
}

INSTANTIATE_TEST_SUITE_P(Masks, Attention,
                         ::testing::Values("dtype=bf16,causal=no,window=no", "dtype=f16,causal=yes,window=no",
                                           "dtype=f16,causal=no,window=yes", "dtype=bf16,causal=yes,window=yes"),
                         [](const auto& mask) {
                           std::string name = mask.param;
                           for (char& c : name) {
                             if (c == '=' || c == ',') c = '_';
                           }
                           return name;
                         });

TEST(AttentionDomain, is_whole_groups_of_heads_and_rows_in_eights_up_to_256) {
  for (const char* dims :
       {"hq=3,hkv=2,sq=1,sk=1,d=8,dv=8", "hq=2,hkv=2,sq=1,sk=1,d=12,dv=8", "hq=2,hkv=2,sq=1,sk=1,d=8,dv=264"}) {
    EXPECT_THROW((void)attention().problem(fmt::format("attention{{b=1,{}}}", dims)), UsageError) << dims;
  }
}

}  // namespace
}  // namespace tilewright::test::attention_test
