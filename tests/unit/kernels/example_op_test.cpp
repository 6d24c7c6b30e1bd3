// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/kernels/built_in_op.hpp"

/// docs/examples/l2norm, a row op of a user's own: every skeleton runs it.
namespace tilewright {
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

}  // namespace
}  // namespace tilewright
