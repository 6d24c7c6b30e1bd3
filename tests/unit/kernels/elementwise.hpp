// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "tests/unit/kernels/built_in_op.hpp"

/// What the tests of elementwise ops have in common.
namespace tilewright::test {

inline constexpr const char* kDtypes[] = {"f32", "f16", "bf16"};
inline constexpr const char* kActs[] = {"none", "relu", "leaky_relu", "gelu", "gelu_erf", "silu", "tanh"};

/// Every activation and every dtype, not all pairs: activation_test.cpp has those, of the functions themselves.
template <class Check>
void for_acts_and_dtypes(const Check& check) {
  for (std::size_t i = 0; i < std::size(kActs); ++i) check(kActs[i], kDtypes[i % 3]);
}

/// Expects `count` configs, spread over an implementation's space, to be right for the problem: of f32 one less, of f16
/// one alone. A config differs from dtype to dtype in how elements are converted, and each is compiled for seconds.
inline void expect_right(BuiltInOp& op, const std::string& key, const std::string& implementation, std::size_t count,
                         const ArgumentSet::Options& options = {}) {
  const Problem problem = op.problem(key);
  if (problem.spec.dtype == DType::f32 && count > 1) --count;
  if (problem.spec.dtype == DType::f16) count = 1;
  const std::vector<Config> configs = op.sample(problem, implementation, count);
  EXPECT_FALSE(configs.empty()) << key;
  for (const Config& config : configs) EXPECT_EQ(op.fault(problem, config, options), "") << key;
}

/// The same of the op's base, which serves every shape and address.
inline void expect_right_base(BuiltInOp& op, const std::string& key, const ArgumentSet::Options& options = {}) {
  EXPECT_EQ(op.fault(op.problem(key), op.definition().base, options), "") << key;
}

}  // namespace tilewright::test
