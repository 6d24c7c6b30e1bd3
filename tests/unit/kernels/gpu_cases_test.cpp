// SPDX-License-Identifier: Apache-2.0
// That the problems of GPU tests (tests/gpu/op_cases.hpp) reach each implementation on an H200.
#include "tests/gpu/op_cases.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "tests/unit/kernels/built_in_op.hpp"

namespace tilewright::gpu_cases_test {
namespace {

using namespace tilewright::testing;

TEST(GpuCases, of_sums_over_rows_reach_every_implementation) {
  Catalogue catalogue({}, test_kernels_dir());
  for (const std::string& name : ops_of(kSums)) {
    const OpDefinition& op = catalogue.find(name);
    std::set<std::string> reached;
    for (const std::string& key : keys_of(kSums, name)) {
      for (const Candidate& each : spread(expand(op, parse_problem(key, op.interface), facts_of_an_h200()).legal, 1)) {
        reached.insert(each.config.implementation);
      }
    }
    for (const Implementation& each : op.implementations) {
      EXPECT_TRUE(reached.contains(each.recipe.name)) << name << " by " << each.recipe.name;
    }
  }
}

TEST(GpuCases, of_fused_products_reach_every_implementation_of_hopper_with_whole_and_with_ragged_tiles) {
  constexpr std::int64_t kLeastTile = 64;
  Catalogue catalogue({}, test_kernels_dir());
  for (const std::string& name : ops_of(kFused)) {
    const OpDefinition& op = catalogue.find(name);
    std::set<std::string> whole;
    std::set<std::string> ragged;
    for (const std::string& key : keys_of(kFused, name)) {
      const Problem problem = parse_problem(key, op.interface);
      const bool is_whole = problem.dims.front().second % kLeastTile == 0;
      for (const Candidate& each : spread(expand(op, problem, facts_of_an_h200()).legal, 1)) {
        if (is_for_hopper(each)) (is_whole ? whole : ragged).insert(each.config.implementation);
      }
    }
    EXPECT_FALSE(whole.empty()) << name;
    for (const Implementation& each : op.implementations) {
      if (each.recipe.requires_arch != "sm_90a") continue;
      EXPECT_TRUE(whole.contains(each.recipe.name)) << name << " by " << each.recipe.name;
      EXPECT_TRUE(ragged.contains(each.recipe.name)) << name << " by " << each.recipe.name;
    }
  }
}

TEST(GpuCases, are_few_configs_of_each_implementation_from_all_over_its_space) {
  std::vector<Candidate> legal;
  for (const char* const config : {"a{i=0}", "a{i=1}", "a{i=2}", "a{i=3}", "a{i=4}", "a{i=5}", "b{i=0}"}) {
    legal.push_back({Config::parse(config), nullptr});
  }
  std::string chosen;
  for (const Candidate& each : spread(legal, 2)) chosen += each.config.text() + " ";
  EXPECT_EQ(chosen, "a{i=1} a{i=4} b{i=0} ");
}

}  // namespace
}  // namespace tilewright::gpu_cases_test
