// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <variant>

#include "tests/unit/kernels/built_in_op.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/nvrtc_library.hpp"
#include "tuner/compile/nvrtc_search.hpp"
#include "tuner/compile/source.hpp"

/// docs/examples: l2norm, a user's row op, on all skeletons; center, of two kernels with a tensor map, a cluster and a
/// counter (tests/gpu runs it).
namespace tilewright::example_op_test {
namespace {

TEST(ExampleOp, l2norm_is_right_by_every_skeleton) {
  BuiltInOp l2norm("l2norm", {test_kernels_dir().parent_path() / "docs/examples"});
  for (const char* dtype : {"f32", "f16", "bf16"}) {
    const auto expect_right = [&](int rows, int cols, const char* implementation) {
      const Problem problem = l2norm.problem(fmt::format("l2norm[dtype={}]{{rows={},cols={}}}", dtype, rows, cols));
      const auto configs = l2norm.sample(problem, implementation, 1);
      EXPECT_FALSE(configs.empty()) << implementation << " of " << problem.key();
      for (const Config& config : configs) EXPECT_EQ(l2norm.fault(problem, config), "");
    };
    expect_right(3, 61, "onchip");
    expect_right(5, 2051, "staged");
    expect_right(2, 16389, "cluster");
    expect_right(1, 1, "streaming");
  }
}

TEST(ExampleOp, center_is_right_by_its_base) {
  BuiltInOp center("center", {test_kernels_dir().parent_path() / "docs/examples"});
  for (const char* dims : {"rows=1,cols=1", "rows=37,cols=301"}) {
    const Problem problem = center.problem(fmt::format("center{{{}}}", dims));
    EXPECT_EQ(center.fault(problem, center.definition().base), "");
    EXPECT_EQ(center.fault(problem, center.definition().base, {.in_place = true}), "");
  }
}

TEST(ExampleOp, center_is_planned_with_map_cluster_counter_and_a_dependent_kernel) {
  const BuiltInOp center("center", {test_kernels_dir().parent_path() / "docs/examples"});
  const OpDefinition& definition = center.definition();
  const auto plan = make_plan(definition.interface, definition.implementation("clustered").recipe,
                              Config::parse("clustered{tile_rows=64,cluster=4,parts=4}"),
                              center.problem("center{rows=4096,cols=1000}"), facts_of_an_h200());
  ASSERT_TRUE(std::holds_alternative<LaunchPlan>(plan)) << std::get<Illegal>(plan).reason;
  const auto& launch = std::get<LaunchPlan>(plan);
  ASSERT_EQ(launch.kernels.size(), 2U);
  EXPECT_EQ(launch.kernels[0].grid, (Extent{32, 16, 1}));
  EXPECT_EQ(launch.kernels[0].cluster, (Extent{1, 4, 1}));
  EXPECT_FALSE(launch.kernels[0].pdl);
  EXPECT_TRUE(launch.kernels[1].pdl);
  ASSERT_EQ(launch.maps.size(), 1U);
  EXPECT_EQ(launch.maps[0].strides, (std::vector<std::uint64_t>{4000}));
  ASSERT_EQ(launch.workspaces.size(), 3U);
  const auto counter = std::ranges::find(launch.workspaces, "finished", &PlannedWorkspace::name);
  ASSERT_NE(counter, launch.workspaces.end());
  EXPECT_EQ(counter->bytes, 128U);
  EXPECT_EQ(counter->zero, WorkspaceRecipe::Zero::once);
}

TEST(ExampleOp, center_compiles_for_hopper_without_spills) {
  if (NvrtcLibrary::find(nvrtc_search_places()) == nullptr) {
    GTEST_SKIP() << "NVRTC was not found: scripts/setup brings it";
  }
  const BuiltInOp center("center", {test_kernels_dir().parent_path() / "docs/examples"});
  const Problem problem = center.problem("center{rows=4096,cols=1024}");
  NvrtcCompiler compiler;
  for (const Candidate& candidate : expand(center.definition(), problem, facts_of_an_h200()).legal) {
    if (candidate.config.implementation != "clustered") continue;
    const auto plan = make_plan(center.definition().interface, candidate.implementation->recipe, candidate.config,
                                problem, facts_of_an_h200());
    const GeneratedSource source = generate_source(center.definition(), *candidate.implementation, candidate.config,
                                                   problem, std::get<LaunchPlan>(plan));
    const CompileResult result =
        compiler.compile({source.text, source.name, source.entries, "sm_90", {test_kernels_dir()}, {}});
    ASSERT_TRUE(result.ok) << result.log;
    for (const KernelFacts& kernel : kernel_facts(result)) EXPECT_EQ(kernel.spill_store_bytes, 0) << kernel.entry;
  }
}

}  // namespace
}  // namespace tilewright::example_op_test
