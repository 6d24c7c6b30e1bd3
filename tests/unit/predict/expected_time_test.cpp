// SPDX-License-Identifier: Apache-2.0
#include "cache/predict/expected_time.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace tilewright::expected_time_test {
namespace {

constexpr double kLaunch = 1000;

/// Shapes of two dims, each with the time that `work` tells beside a launch.
std::vector<TimedShape> timed(const std::function<double(double, double)>& work) {
  std::vector<TimedShape> shapes;
  for (const std::int64_t a : {3, 16, 40, 129, 512, 1000, 2051}) {
    for (const std::int64_t b : {5, 32, 101, 1024}) {
      shapes.push_back({{a, b}, kLaunch + work(static_cast<double>(a), static_cast<double>(b)), kLaunch});
    }
  }
  return shapes;
}

TEST(ExpectedTime, is_one_shape_s_time_scaled_by_the_dims_with_the_launch_s_share_kept) {
  EXPECT_NEAR(expected_time_ns(ShapeDims{16, 30}, {{{8, 10}, 1500, kLaunch}}), kLaunch + 6 * 500, 1e-6);
}

TEST(ExpectedTime, is_that_of_a_tuned_shape_itself) {
  const auto shapes = timed([](double a, double b) { return a * std::sqrt(b); });
  EXPECT_NEAR(expected_time_ns(shapes[9].dims, shapes) / shapes[9].median_ns, 1, 0.01);
}

TEST(ExpectedTime, follows_a_shape_that_is_unlike_the_others_nearby_and_there_alone) {
  const auto work = [](double a, double b) { return a * b; };
  std::vector<TimedShape> shapes = timed(work);
  TimedShape& slow = shapes[18];
  slow.median_ns = kLaunch + 3 * (slow.median_ns - kLaunch);
  EXPECT_NEAR(expected_time_ns(slow.dims, shapes) / slow.median_ns, 1, 0.05);
  EXPECT_NEAR(expected_time_ns(ShapeDims{16, 31}, shapes) / (kLaunch + work(16, 31)), 1, 0.2);
}

TEST(ExpectedTime, is_told_by_near_shapes_where_far_ones_follow_another_power) {
  std::vector<TimedShape> shapes = timed([](double a, double b) { return a * b; });
  for (const std::int64_t a : {1 << 20, 1 << 22, 1 << 24}) {
    for (const std::int64_t b : {5, 32, 101, 1024}) shapes.push_back({{a, b}, kLaunch + 1e6, kLaunch});
  }
  EXPECT_NEAR(expected_time_ns(ShapeDims{300, 300}, shapes) / (kLaunch + 300 * 300), 1, 0.25);
}

TEST(ExpectedTime, learns_the_power_of_each_dim) {
  const auto work = [](double a, double) { return 7 * a; };
  const auto shapes = timed(work);
  EXPECT_NEAR(expected_time_ns(ShapeDims{700, 8192}, shapes) / (kLaunch + work(700, 8192)), 1, 0.1)
      << "the second dim costs nothing";
}

TEST(ExpectedTime, learns_what_it_costs_if_a_dim_is_odd) {
  const auto work = [](double a, double b) { return a * b * (std::fmod(a, 8) == 0 ? 1 : 4); };
  const auto shapes = timed(work);
  EXPECT_NEAR(expected_time_ns(ShapeDims{2048, 200}, shapes) / (kLaunch + work(2048, 200)), 1, 0.25);
  EXPECT_NEAR(expected_time_ns(ShapeDims{505, 200}, shapes) / (kLaunch + work(505, 200)), 1, 0.25);
}

TEST(ExpectedTime, of_the_same_shapes_and_extents_of_zero_is_a_number) {
  const std::vector<TimedShape> shapes{{{0, 8}, 1500, kLaunch}, {{0, 8}, 1500, kLaunch}};
  EXPECT_NEAR(expected_time_ns(ShapeDims{0, 8}, shapes), 1500, 1e-6);
}

TEST(ExpectedTime, is_a_launch_where_all_are) {
  const std::vector<TimedShape> shapes{{{1, 8}, 900, kLaunch}, {{2, 8}, 900, kLaunch}};
  const double expected = expected_time_ns(ShapeDims{4, 8}, shapes);
  EXPECT_GT(expected, 880);
  EXPECT_LT(expected, 1000);
}

}  // namespace
}  // namespace tilewright::expected_time_test
