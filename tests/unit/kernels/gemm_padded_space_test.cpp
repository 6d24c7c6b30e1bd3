// SPDX-License-Identifier: Apache-2.0
// gemm's wgmma_padded: the problems it serves, its launches, and that its kernels compile without spills.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tests/unit/kernels/gemm.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/nvrtc_library.hpp"
#include "tuner/compile/nvrtc_search.hpp"
#include "tuner/compile/source.hpp"

namespace tilewright::test::gemm_padded_space_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Candidate> padded(const Problem& problem) {
  std::vector<Candidate> all = expand(gemm().definition(), problem, facts_of_an_h200()).legal;
  std::erase_if(all, [](const Candidate& each) { return each.config.implementation != "wgmma_padded"; });
  return all;
}
std::vector<Candidate> padded(const Product& product) { return padded(gemm().problem(product.key())); }

LaunchPlan plan(const Candidate& candidate, const Problem& problem) {
  return std::get<LaunchPlan>(make_plan(gemm().definition().interface, candidate.implementation->recipe,
                                        candidate.config, problem, facts_of_an_h200()));
}
/// The plan of the first config.
LaunchPlan plan(const Product& product) { return plan(padded(product).at(0), gemm().problem(product.key())); }

std::vector<std::string> entries(const LaunchPlan& plan) {
  std::vector<std::string> names;
  for (const PlannedKernel& kernel : plan.kernels) names.push_back(kernel.entry);
  return names;
}
std::vector<std::string> maps(const LaunchPlan& plan) {
  std::vector<std::string> names;
  for (const PlannedMap& map : plan.maps) names.push_back(map.name);
  return names;
}
std::size_t workspace(const LaunchPlan& plan, const std::string& name) {
  for (const PlannedWorkspace& workspace : plan.workspaces) {
    if (workspace.name == name) return workspace.bytes;
  }
  return 0;
}

/// A product for each way to launch it, for each size of element.
const Product kProducts[] = {
    {.m = 4001, .n = 4104, .k = 4095},
    {.m = 4001, .n = 4103, .k = 4095},
    {.dtype = "f16", .layout = "nn", .m = 1024, .n = 4096, .k = 4097},
    {.layout = "tn", .m = 1024, .n = 4099, .k = 4096},
    {.dtype = "f32", .m = 2047, .n = 2048, .k = 2049, .math = "tf32"},
    {.dtype = "f32", .m = 2048, .n = 2047, .k = 2049, .math = "tf32"},
};

TEST(GemmPadded, has_few_configs_where_rows_are_ragged_and_the_product_is_large) {
  for (const Product& product : kProducts) {
    EXPECT_GE(padded(product).size(), 4U) << product.key();
    EXPECT_LE(padded(product).size(), 40U) << product.key();
  }
  for (const char* layout : kLayouts) {
    for (const int m : {128, 333, 1000, 4096, 16384}) {
      for (const int n : {96, 1001, 7001, 8192}) {
        for (const int k : {127, 1028, 8191}) {
          const Product product{.layout = layout, .m = m, .n = n, .k = k};
          EXPECT_LE(padded(product).size(), 40U) << product.key();
        }
      }
    }
  }
}

TEST(GemmPadded, leaves_alone_what_needs_no_padding_or_does_not_pay_for_it) {
  EXPECT_THAT(padded(Product{.m = 4096, .n = 4096, .k = 4096}), IsEmpty());
  EXPECT_THAT(padded(Product{.layout = "nn", .m = 4001, .n = 4096, .k = 4096}), IsEmpty()) << "m is in no rows";
  EXPECT_THAT(padded(Product{.layout = "tn", .m = 4096, .n = 4096, .k = 4095}), IsEmpty()) << "nor is k";
  EXPECT_THAT(padded(Product{.m = 16, .n = 28672, .k = 8191}), IsEmpty()) << "each weight is multiplied 16 times";
  EXPECT_THAT(padded(Product{.m = 300, .n = 300, .k = 301}), IsEmpty()) << "a launch more is no gain";
  EXPECT_THAT(padded(Product{.dtype = "f32", .m = 4001, .n = 4104, .k = 4095}), IsEmpty()) << "ieee";
  EXPECT_THAT(padded(Product{.m = 4096, .n = 1 << 20, .k = 8191}), IsEmpty()) << "a copy of 17 GB";
}

TEST(GemmPadded, copies_both_operands_where_k_is_in_their_rows) {
  const LaunchPlan launch = plan(kProducts[0]);
  EXPECT_THAT(entries(launch), ElementsAre("gemm_pad", "gemm_wgmma"));
  EXPECT_THAT(maps(launch), ElementsAre("padded_a", "padded_b", "c"));
  EXPECT_EQ(workspace(launch, "padded_a"), 4001U * 8192);
  EXPECT_EQ(workspace(launch, "padded_b"), 4104U * 8192);
  EXPECT_EQ(launch.maps[0].over, PlannedMap::Over::workspace);
  EXPECT_EQ(launch.workspaces.at(launch.maps[0].index).name, "padded_a");
  EXPECT_THAT(launch.maps[0].dims, ElementsAre(4095, 4001)) << "zeros from there on are the copies'";
  EXPECT_THAT(launch.maps[0].strides, ElementsAre(8192));
  EXPECT_EQ(launch.kernels[0].grid[0], (4001U * 512 + 511) / 512 + (4104U * 512 + 511) / 512);
  EXPECT_FALSE(launch.kernels[0].pdl);
  EXPECT_TRUE(launch.kernels[1].pdl);
  EXPECT_EQ(launch.args[0].alignment, 2U) << "an element's";
  EXPECT_EQ(launch.args[1].alignment, 2U);
  EXPECT_THAT(entries(plan(kProducts[1])), ElementsAre("gemm_pad", "gemm_wgmma_any"));
}

TEST(GemmPadded, reads_the_other_operand_from_where_it_is) {
  const LaunchPlan a_alone = plan(kProducts[2]);
  EXPECT_THAT(entries(a_alone), ElementsAre("gemm_pad", "gemm_wgmma"));
  EXPECT_THAT(maps(a_alone), ElementsAre("padded_a", "b", "c"));
  EXPECT_EQ(workspace(a_alone, "padded_a"), 1024U * 8320);
  EXPECT_EQ(workspace(a_alone, "padded_b"), 0U);
  EXPECT_EQ(a_alone.maps[1].over, PlannedMap::Over::arg);
  EXPECT_EQ(a_alone.args[0].alignment, 2U);
  EXPECT_EQ(a_alone.args[1].alignment, 16U);
  EXPECT_EQ(a_alone.kernels[0].grid[0], (1024U * 513 + 511) / 512);
  const LaunchPlan b_alone = plan(kProducts[3]);
  EXPECT_THAT(entries(b_alone), ElementsAre("gemm_pad", "gemm_wgmma_any"));
  EXPECT_THAT(maps(b_alone), ElementsAre("a", "padded_b"));
  EXPECT_EQ(workspace(b_alone, "padded_a"), 0U);
  EXPECT_EQ(workspace(b_alone, "padded_b"), 4096U * 8320);
}

bool compiles_all() {
  const char* value = std::getenv("TILEWRIGHT_COMPILE_ALL");
  return value != nullptr && std::string(value) == "1";
}

// Compiles a config for each way to launch it; with TILEWRIGHT_COMPILE_ALL=1, all configs.
TEST(GemmPadded, compiles_without_spills) {
  if (NvrtcLibrary::find(nvrtc_search_places()) == nullptr) {
    GTEST_SKIP() << "NVRTC was not found: scripts/setup brings it";
  }
  NvrtcCompiler compiler;
  std::set<std::string> compiled;
  for (std::size_t i = 0; i < std::size(kProducts); ++i) {
    const Problem problem = gemm().problem(kProducts[i].key());
    std::vector<Candidate> candidates = padded(problem);
    if (!compiles_all()) candidates = {candidates.at(i * candidates.size() / std::size(kProducts))};
    for (const Candidate& each : candidates) {
      const GeneratedSource source =
          generate_source(gemm().definition(), *each.implementation, each.config, problem, plan(each, problem));
      if (!compiled.insert(source.text).second) continue;
      const CompileResult result =
          compiler.compile({source.text, source.name, source.entries, "sm_90a", {test_kernels_dir()}, {}});
      ASSERT_TRUE(result.ok) << each.config.text() << '\n' << result.log;
      EXPECT_EQ(result.kernels.size(), 3U) << "both, and the reference";
      EXPECT_EQ(result.log.find("serialized"), std::string::npos) << each.config.text() << '\n' << result.log;
      for (const CompiledKernel& kernel : result.kernels) {
        EXPECT_EQ(kernel.resources.spill_store_bytes, 0) << kernel.entry << " of " << each.config.text();
        EXPECT_LE(kernel.resources.registers, kernel.entry == "gemm_pad" ? 80 : 232);
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::test::gemm_padded_space_test
