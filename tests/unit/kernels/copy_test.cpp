// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/kernels/built_in_op.hpp"

namespace tilewright {
namespace {

TEST(Copy, moves_every_element_whatever_the_length) {
  BuiltInOp copy("copy");
  for (const char* dtype : {"f32", "bf16"}) {
    for (const int n : {1, 1023, 8192}) {
      const Problem problem = copy.problem(fmt::format("copy[dtype={}]{{n={}}}", dtype, n));
      for (const Config& config : copy.sample(problem, "vector", 4)) EXPECT_EQ(copy.fault(problem, config), "");
    }
  }
}

TEST(Copy, serves_element_aligned_addresses_with_its_base) {
  BuiltInOp copy("copy");
  const Problem problem = copy.problem("copy[dtype=f16]{n=777}");
  EXPECT_EQ(copy.fault(problem, copy.definition().base, {.seed = 2, .misalign_elements = 1}), "");
}

}  // namespace
}  // namespace tilewright
