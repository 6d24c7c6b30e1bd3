// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/drawn_shapes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace tilewright::drawn_shapes_test {
namespace {

const std::vector<ShapeDims> kTuned{{16, 1024}, {4096, 65536}};

TEST(DrawnShapes, lie_between_and_around_the_tuned_ones_as_far_as_asked) {
  for (const double beyond : {1.0, 2.0, 4.0}) {
    for (const ShapeDims& shape : draw_shapes(kTuned, 200, beyond, 3)) {
      EXPECT_GE(static_cast<double>(shape[0]), 16 / beyond - 1);
      EXPECT_LE(static_cast<double>(shape[0]), 4096 * beyond);
      EXPECT_GE(static_cast<double>(shape[1]), 1024 / beyond - 8);
      EXPECT_LE(static_cast<double>(shape[1]), 65536 * beyond);
    }
  }
}

TEST(DrawnShapes, leave_no_doubling_of_a_dim_out) {
  std::set<int> doublings;
  for (const ShapeDims& shape : draw_shapes(kTuned, 40, 1, 5)) {
    doublings.insert(static_cast<int>(std::log2(static_cast<double>(shape[0]))));
  }
  EXPECT_EQ(doublings.size(), 8U) << "of rows, from 16 up to 4096";
}

TEST(DrawnShapes, are_the_same_for_the_same_seed_and_others_for_others) {
  const std::vector<ShapeDims> some = draw_shapes(kTuned, 10, 2, 1);
  const std::vector<ShapeDims> more = draw_shapes(kTuned, 20, 2, 1);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), more.begin()));
  EXPECT_NE(draw_shapes(kTuned, 10, 2, 2), some);
  EXPECT_NE(draw_shapes(kTuned, 10, 2, 0), some);
}

TEST(DrawnShapes, are_at_least_one_long_and_mostly_multiples_of_eight_where_they_are_long) {
  std::size_t multiples = 0;
  const std::vector<ShapeDims> shapes = draw_shapes({{1, 8192}}, 90, 2, 7);
  for (const ShapeDims& shape : shapes) {
    EXPECT_GE(shape[0], 1);
    multiples += shape[1] % 8 == 0 ? 1 : 0;
  }
  EXPECT_GE(multiples, 50U);
  EXPECT_LT(multiples, 75U);
}

TEST(DrawnShapes, have_every_alignment_of_one_length_beside_every_one_of_another) {
  std::set<std::pair<bool, bool>> seen;
  for (const ShapeDims& shape : draw_shapes({{128, 128, 128}, {8192, 8192, 8192}}, 60, 1, 4)) {
    seen.emplace(shape[1] % 8 == 0, shape[2] % 8 == 0);
  }
  EXPECT_EQ(seen.size(), 4U);
}

}  // namespace
}  // namespace tilewright::drawn_shapes_test
