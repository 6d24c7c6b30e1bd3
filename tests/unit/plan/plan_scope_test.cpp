// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/plan_scope.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::plan_scope_test {
namespace {

using ::testing::Contains;
using ::testing::Not;

struct Parts {
  Problem problem = parse_problem("gemm[act=gelu]{m=64,n=128,k=4096}", test::gemm());
  Config config = Config::parse("tiled{block_m=32,vec=8}");
  DeviceFacts device = emulator_facts();
};

TEST(PlanScope, knows_problem_config_and_device) {
  const Parts parts;
  const PlanScope scope(parts.problem, parts.config, parts.device);
  EXPECT_EQ(scope.find("m"), Value(64));
  EXPECT_EQ(scope.find("dtype"), Value("bf16"));
  EXPECT_EQ(scope.find("act"), Value("gelu"));
  EXPECT_EQ(scope.find("block_m"), Value(32));
  EXPECT_EQ(scope.find("shared_per_sm"), Value(233472));
  EXPECT_EQ(scope.find("resident_blocks"), std::nullopt);
  for (const std::string& name : scope.names()) EXPECT_TRUE(scope.find(name)) << name;
  EXPECT_THAT(scope.names(), Contains("vec"));
  EXPECT_THAT(scope.names(), Contains("sm_count"));
  EXPECT_THAT(scope.names(), Not(Contains("resident_blocks")));
}

TEST(PlanScope, a_grid_also_knows_what_is_resident) {
  const Parts parts;
  const PlanScope plan(parts.problem, parts.config, parts.device);
  PlannedKernel kernel;
  kernel.entry = "k";
  Residency residency;
  residency.resident_blocks = [](const PlannedKernel& asked) -> std::int64_t { return asked.entry == "k" ? 528 : 0; };
  residency.max_active_clusters = [](const PlannedKernel&) -> std::int64_t { return 66; };
  const GridScope scope(plan, kernel, parts.device, &residency);
  EXPECT_EQ(scope.find("resident_blocks"), Value(528));
  EXPECT_EQ(scope.find("max_active_clusters"), Value(66));
  EXPECT_EQ(scope.find("block_m"), Value(32));
  EXPECT_EQ(scope.find("nothing"), std::nullopt);
  for (const std::string& name : scope.names()) EXPECT_TRUE(scope.find(name)) << name;
}

TEST(PlanScope, without_a_residency_there_is_one_block_an_sm_and_one_cluster) {
  const Parts parts;
  const PlanScope plan(parts.problem, parts.config, parts.device);
  const PlannedKernel kernel;
  const Residency empty;
  for (const Residency* residency : {static_cast<const Residency*>(nullptr), &empty}) {
    const GridScope scope(plan, kernel, parts.device, residency);
    EXPECT_EQ(scope.find("resident_blocks"), Value(parts.device.sm_count));
    EXPECT_EQ(scope.find("max_active_clusters"), Value(1));
  }
}

TEST(PlanScope, values_are_told_in_the_formulas_order) {
  const Parts parts;
  const PlanScope scope(parts.problem, parts.config, parts.device);
  EXPECT_EQ(values_in(test::formula("k % vec == 0 and act != 'none' and vec > 1"), scope),
            " (k=4096, vec=8, act=gelu)");
  EXPECT_EQ(values_in(test::formula("1 < 2"), scope), "");
  EXPECT_EQ(values_in(test::formula("nothing or m"), scope), " (m=64)");
}

}  // namespace
}  // namespace tilewright::plan_scope_test
