// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "tests/unit/kernels/built_in_op.hpp"
#include "tuner/definition/shapes.hpp"

namespace tilewright::mma_test {
namespace {

constexpr const char* kTypes[] = {"bf16", "f16", "f32"};

TEST(Mma, adds_up_what_the_reference_does_with_any_tile_of_a_warp) {
  BuiltInOp mma("mma");
  for (const char* dtype : kTypes) {
    const Problem problem = mma.problem(fmt::format("mma[dtype={}]{{rows=100,steps=3}}", dtype));
    const std::size_t most = std::string_view(dtype) == "bf16" ? 5 : 2;
    for (const Config& config : mma.sample(problem, "warp", most)) EXPECT_EQ(mma.fault(problem, config), "");
  }
}

TEST(Mma, takes_any_number_of_rows_and_steps) {
  BuiltInOp mma("mma");
  for (const char* dims : {"rows=1,steps=1", "rows=129,steps=8"}) {
    const Problem problem = mma.problem(fmt::format("mma[dtype=bf16]{{{}}}", dims));
    EXPECT_EQ(mma.fault(problem, mma.definition().base), "") << dims;
  }
}

TEST(Mma, has_chains_of_wgmma_on_hopper_and_of_mma_everywhere) {
  BuiltInOp mma("mma");
  const Problem problem = mma.problem("mma[dtype=bf16]{rows=524288,steps=32}");
  const auto implementations = [&](const DeviceFacts& device) {
    std::map<std::string, int> counts;
    for (const Candidate& candidate : expand(mma.definition(), problem, device).legal) {
      ++counts[candidate.config.implementation];
    }
    return counts;
  };
  EXPECT_EQ(implementations(facts_of_an_h200()), (std::map<std::string, int>{{"warp", 10}, {"warpgroup", 4}}));
  EXPECT_EQ(implementations(facts_of_an_a100()), (std::map<std::string, int>{{"warp", 10}}));
}

TEST(Mma, is_far_from_being_bound_by_memory) {
  BuiltInOp mma("mma");
  for (const char* dtype : kTypes) {
    const OpSpec spec = parse_spec(fmt::format("mma[dtype={}]", dtype), mma.definition().interface);
    const auto problems = default_shapes(mma.definition(), spec, false);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_GE(mma.definition().flops_of(problems[0]), 3500 * mma.definition().bytes_of(problems[0]));
  }
}

}  // namespace
}  // namespace tilewright::mma_test
