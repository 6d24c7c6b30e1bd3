// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/kernels/built_in_op.hpp"

/// Common parts of tests of elementwise ops.
namespace tilewright::test {

inline constexpr const char* kDtypes[] = {"f32", "f16", "bf16"};
inline constexpr const char* kActs[] = {"none", "relu", "leaky_relu", "gelu", "gelu_erf", "silu", "tanh"};

/// All activations and all dtypes, but not all pairs: activation_test.cpp has those.
template <class Check>
void for_acts_and_dtypes(const Check& check) {
  for (std::size_t i = 0; i < std::size(kActs); ++i) check(kActs[i], kDtypes[i % 3]);
}

/// Expects `count` configs, spread over an implementation's space, to be right for the problem; one fewer for f32, and
/// one for f16. Dtypes differ only in conversions, and each config takes seconds to compile.
inline void expect_right(BuiltInOp& op, const std::string& key, const std::string& implementation, std::size_t count,
                         const ArgumentSet::Options& options = {}) {
  const Problem problem = op.problem(key);
  if (problem.spec.dtype == DType::f32 && count > 1) --count;
  if (problem.spec.dtype == DType::f16) count = 1;
  const std::vector<Config> configs = op.sample(problem, implementation, count);
  EXPECT_FALSE(configs.empty()) << key;
  for (const Config& config : configs) EXPECT_EQ(op.fault(problem, config, options), "") << key;
}

/// Expects the op's base, which serves all shapes and addresses, to be right.
inline void expect_right_base(BuiltInOp& op, const std::string& key, const ArgumentSet::Options& options = {}) {
  EXPECT_EQ(op.fault(op.problem(key), op.definition().base, options), "") << key;
}

/// Expects a check in place to try exactly these pairs: "dx = x" for the output dx at the address of the input x.
inline void expect_in_place(const BuiltInOp& op, const std::string& key, const std::set<std::string>& expected) {
  const std::vector<PlannedArg> args = plan_args(op.definition().interface, op.problem(key));
  std::set<std::string> tried;
  for (const Placement& placement : placements(args)) {
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (placement[i]) tried.insert(args[i].name + " = " + args[*placement[i]].name);
    }
  }
  EXPECT_EQ(tried, expected) << key;
}

}  // namespace tilewright::test
