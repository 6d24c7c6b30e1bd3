// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/compiler.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(Compiler, facts_of_kernels_are_those_of_the_result_in_its_order) {
  CompileResult result;
  result.kernels.push_back({"first", "_Z5first", {168, 12, 16, 264, 49152, 392, 384}});
  result.kernels.push_back({"second", "_Z6second", {}});
  const std::vector<KernelFacts> facts = kernel_facts(result);
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0], (KernelFacts{"first", "_Z5first", 168, 12, 16, 264, 49152}));
  EXPECT_EQ(facts[1], (KernelFacts{"second", "_Z6second", 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace tilewright
