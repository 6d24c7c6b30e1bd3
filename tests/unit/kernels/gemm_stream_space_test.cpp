// SPDX-License-Identifier: Apache-2.0
// gemm's stream and cluster: the problems they serve, their launches, and that their kernels compile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tests/unit/kernels/gemm.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/nvrtc_library.hpp"
#include "tuner/compile/nvrtc_search.hpp"
#include "tuner/compile/source.hpp"

namespace tilewright::test::gemm_stream_space_test {
namespace {

std::vector<Candidate> all_of(const std::string& implementation, const Product& product) {
  std::vector<Candidate> all = expand(gemm().definition(), gemm().problem(product.key()), facts_of_an_h200()).legal;
  std::erase_if(all, [&](const Candidate& each) { return each.config.implementation != implementation; });
  return all;
}

std::vector<Candidate> streams(const Product& product) { return all_of("stream", product); }
std::vector<Candidate> clusters(const Product& product) { return all_of("cluster", product); }

bool has(const Candidate& candidate, std::string_view part) {
  return candidate.config.text().find(part) != std::string::npos;
}

LaunchPlan plan(const Candidate& candidate, const Problem& problem) {
  return std::get<LaunchPlan>(make_plan(gemm().definition().interface, candidate.implementation->recipe,
                                        candidate.config, problem, facts_of_an_h200()));
}

const Product kFewRows{.m = 304, .n = 4104, .k = 12000}, kCube{.m = 3000, .n = 3000, .k = 3000},
    kTall{.m = 16000, .n = 2600, .k = 1400}, kNear128{.m = 136, .n = 4760, .k = 4672};

TEST(GemmStreamSpace, is_small_and_never_empty_off_the_beaten_track) {
  for (const Product& product : {kFewRows, kCube, kTall, kNear128}) {
    EXPECT_GE(streams(product).size(), 4U) << product.key();
    EXPECT_LE(streams(product).size(), 80U) << product.key();
  }
}

TEST(GemmStreamSpace, is_for_k_in_all_rows_elements_of_16_bits_and_whole_vectors_of_c) {
  EXPECT_FALSE(streams(Product{.dtype = "f16", .m = 304, .n = 4104, .k = 12000}).empty());
  EXPECT_TRUE(streams(Product{.layout = "nn", .m = 304, .n = 4104, .k = 12000}).empty());
  EXPECT_TRUE(streams(Product{.m = 304, .n = 4100, .k = 12000}).empty());
  EXPECT_TRUE(streams(Product{.dtype = "f32", .m = 304, .n = 4104, .k = 12000, .math = "tf32"}).empty());
}

// Blocks wait for each other: more than the device can hold at once would deadlock.
TEST(GemmStreamSpace, launches_no_more_blocks_than_there_are_multiprocessors) {
  for (const Product& product : {kFewRows, kCube, kTall, kNear128}) {
    const Problem problem = gemm().problem(product.key());
    for (const Candidate& each : streams(product)) {
      EXPECT_LE(plan(each, problem).kernels.at(0).grid[0], 132U) << each.config.text();
    }
  }
}

TEST(GemmClusterSpace, is_for_few_rows_and_a_long_k) {
  for (const Product& product : {kFewRows, kNear128}) {
    EXPECT_GE(clusters(product).size(), 3U) << product.key();
    EXPECT_LE(clusters(product).size(), 80U) << product.key();
  }
  EXPECT_TRUE(clusters(kCube).empty());
  EXPECT_TRUE(clusters(kTall).empty());
  EXPECT_TRUE(clusters(Product{.m = 136, .n = 4760, .k = 320}).empty());
}

TEST(GemmClusterSpace, launches_whole_clusters_of_at_most_sixteen_blocks_that_run_at_one_time) {
  for (const Product& product : {kFewRows, kNear128, Product{.m = 191, .n = 3048, .k = 15608}}) {
    const Problem problem = gemm().problem(product.key());
    for (const Candidate& each : clusters(product)) {
      const PlannedKernel kernel = plan(each, problem).kernels.at(0);
      EXPECT_LE(kernel.cluster[0], 16U) << each.config.text();
      EXPECT_LE(kernel.grid[0], 132U) << each.config.text();
      EXPECT_EQ(kernel.grid[0] % kernel.cluster[0], 0U) << each.config.text();
    }
  }
}

TEST(GemmStreamSpace, compiles_and_multiplies_without_waits_in_between) {
  if (NvrtcLibrary::find(nvrtc_search_places()) == nullptr) {
    GTEST_SKIP() << "NVRTC was not found: scripts/setup brings it";
  }
  NvrtcCompiler compiler;
  // One config for each way to share a tile, with the possible parts of k.
  const std::map<std::string, Product> ways = {{"halves=1", kCube},       {"stream=1", kFewRows},
                                               {"stream=2", kNear128},    {"cluster_m=4", kNear128},
                                               {"cluster_n=2", kFewRows}, {"parts=4", kNear128}};
  for (const auto& way : ways) {
    const std::string& part = way.first;
    const Product& product = way.second;
    const Problem problem = gemm().problem(product.key());
    std::vector<Candidate> all = streams(product);
    std::ranges::copy(clusters(product), std::back_inserter(all));
    const auto found = std::ranges::find_if(all, [&](const Candidate& each) { return has(each, part); });
    ASSERT_NE(found, all.end()) << part;
    const GeneratedSource source =
        generate_source(gemm().definition(), *found->implementation, found->config, problem, plan(*found, problem));
    const CompileResult result =
        compiler.compile({source.text, source.name, source.entries, "sm_90a", {test_kernels_dir()}, {}});
    ASSERT_TRUE(result.ok) << found->config.text() << '\n' << result.log;
    EXPECT_EQ(result.log.find("serialized"), std::string::npos) << found->config.text() << '\n' << result.log;
    for (const CompiledKernel& kernel : result.kernels) {
      EXPECT_LE(kernel.resources.spill_store_bytes, 64) << kernel.entry << " of " << found->config.text();
    }
  }
}

}  // namespace
}  // namespace tilewright::test::gemm_stream_space_test
