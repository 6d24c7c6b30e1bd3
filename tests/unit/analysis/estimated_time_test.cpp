// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/estimated_time.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tilewright {
namespace {

/// Shapes of 16 columns, the nearest to 120 rows first, whose times are in proportion to the rows, and `scatter` more
/// for each second one by size.
std::vector<TimedShape> timed(double scatter = 0) {
  std::vector<TimedShape> shapes;
  for (const std::int64_t rows : {96, 160, 64, 224, 48, 320, 32, 480, 16, 1000}) {
    const bool more = (shapes.size() + 1) / 2 % 2 == 1;
    shapes.push_back({{rows, 16}, 100.0 * static_cast<double>(rows) * (more ? 1 + scatter : 1), 0});
  }
  return shapes;
}

/// The upper bound over the time.
double error(const ShapeDims& shape, const std::vector<TimedShape>& around) {
  const EstimatedTime estimate = estimated_time(shape, around).value();
  EXPECT_NEAR(estimate.low_ns * estimate.high_ns, estimate.ns * estimate.ns, 1e-6 * estimate.ns * estimate.ns);
  return estimate.high_ns / estimate.ns - 1;
}

TEST(EstimatedTime, is_sure_where_the_shapes_around_tell_each_other_s_times) {
  EXPECT_NEAR(estimated_time(ShapeDims{120, 16}, timed())->ns, 12000, 400);
  EXPECT_LT(error({120, 16}, timed()), 0.05);
}

TEST(EstimatedTime, is_off_by_twice_what_the_shapes_around_are_off_by) {
  EXPECT_GT(error({120, 16}, timed(0.2)), 0.2);
  EXPECT_LT(error({120, 16}, timed(0.2)), 0.6);
}

TEST(EstimatedTime, is_less_sure_the_farther_it_is_from_the_tuned_range) {
  const double within = error({1000, 16}, timed());
  EXPECT_NEAR(error({2000, 16}, timed()), (1 + within) * std::sqrt(2) - 1, 0.1);
  EXPECT_GT(error({2000, 32}, timed()), error({2000, 16}, timed()) + 0.5);
}

TEST(EstimatedTime, takes_five_shapes) {
  std::vector<TimedShape> shapes = timed();
  shapes.resize(5);
  EXPECT_TRUE(estimated_time(ShapeDims{120, 16}, shapes));
  shapes.pop_back();
  EXPECT_FALSE(estimated_time(ShapeDims{120, 16}, shapes));
  EXPECT_FALSE(estimated_time(ShapeDims{120, 16}, {}));
}

}  // namespace
}  // namespace tilewright
