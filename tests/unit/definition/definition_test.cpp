// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/definition.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "cache/base/error.hpp"
#include "tests/unit/definition/helpers.hpp"

namespace tilewright::test {
namespace {

TEST(OpDefinition, finds_its_implementations_by_name) {
  const OpDefinition mix = load_mix();
  EXPECT_EQ(mix.implementation("plain").recipe.name, "plain");
  try {
    static_cast<void>(mix.implementation("plan"));
    FAIL() << "found";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "mix has no implementation 'plan'; did you mean 'plain'?");
  }
}

TEST(OpDefinition, computes_bytes_and_flops_of_a_problem) {
  const OpDefinition mix = load_mix();
  const auto problem = [&](const char* key) { return parse_problem(key, mix.interface); };
  EXPECT_EQ(mix.bytes_of(problem("mix[dtype=f16]{m=2,n=3,k=5}")), (2 * 5 + 5 * 3 + 2 * 2 * 3) * 2);
  EXPECT_EQ(mix.bytes_of(problem("mix[dtype=f16,bias=yes]{m=2,n=3,k=5}")), (2 * 5 + 5 * 3 + 2 * 2 * 3) * 2 + 12);
  EXPECT_EQ(mix.flops_of(problem("mix{m=2,n=3,k=5}")), 60);
}

TEST(OpDefinition, tells_the_unit_that_a_problem_computes_on) {
  OpDefinition mix = load_mix();
  const auto unit = [&](const char* key) { return mix.unit_of(parse_problem(key, mix.interface)); };
  EXPECT_EQ(unit("mix[dtype=f16]{m=2,n=3,k=5}"), "tensor_f16");
  EXPECT_EQ(unit("mix[dtype=bf16]{m=2,n=3,k=5}"), "tensor_bf16");
  EXPECT_EQ(unit("mix[dtype=bf16,layout=nn]{m=2,n=3,k=5}"), "fp32");
  mix.interface.dtypes.push_back(DType::f32);
  EXPECT_EQ(unit("mix[dtype=f32]{m=2,n=3,k=5}"), "tensor_tf32");
  mix.tensor_cores.reset();
  EXPECT_EQ(unit("mix[dtype=f16]{m=2,n=3,k=5}"), "fp32");
}

TEST(OpDefinition, says_which_cost_overflows) {
  const OpDefinition mix = load_mix();
  const Problem problem = parse_problem("mix{m=4294967296,n=4294967296,k=1}", mix.interface);
  try {
    static_cast<void>(mix.flops_of(problem));
    FAIL() << "computed";
  } catch (const DefinitionError& error) {
    EXPECT_EQ(error.mistakes().at(0).line, 20);
    EXPECT_THAT(error.what(), testing::HasSubstr("mix.toml:20:"));
  }
}

}  // namespace
}  // namespace tilewright::test
