// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/neighbours.hpp"

#include <algorithm>
#include <iterator>

#include "tests/unit/search/landscape.hpp"

namespace tilewright::testing {
namespace {

Problem shape(std::int64_t rows, std::int64_t cols) {
  Problem problem;
  problem.dims = {{"rows", rows}, {"cols", cols}};
  return problem;
}

TEST(Neighbours, measures_shapes_in_doublings) {
  EXPECT_DOUBLE_EQ(distance(shape(8, 8), shape(8, 16)), 1);
  EXPECT_DOUBLE_EQ(distance(shape(8, 8), shape(1, 128)), 5);
  EXPECT_DOUBLE_EQ(distance(shape(5, 7), shape(5, 7)), 0);
}

TEST(Neighbours, measures_configs_in_doublings_of_their_parameters) {
  EXPECT_DOUBLE_EQ(distance(Config::parse("a{x=4,y=0}"), Config::parse("a{x=16,y=1}")), 3);
  EXPECT_DOUBLE_EQ(distance(Config::parse("a{x=4}"), Config::parse("a{x=4,z=1}")), 1);
  EXPECT_TRUE(std::isinf(distance(Config::parse("a{x=4}"), Config::parse("b{x=4}"))));
}

TEST(Neighbours, keeps_the_nearest_and_never_the_problem_itself) {
  Neighbours all;
  for (const std::int64_t cols : {64, 8, 16, 32}) all.push_back({shape(8, cols), {}, std::nullopt});
  const Neighbours kept = nearest(all, shape(8, 16), 2);
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].problem, shape(8, 8));
  EXPECT_EQ(kept[1].problem, shape(8, 32));
}

TEST(Neighbours, expects_what_was_seen_and_a_little_more_of_a_likeness) {
  Landscape landscape(4, 1, 0);
  Neighbour known = landscape.known(128, 1);
  known.trials.erase(known.trials.begin() + 3);
  const Neighbours neighbours{known};
  const Predictor predictor(landscape.space.candidates, landscape.space.problem, neighbours);
  const std::vector<double> expected = predictor.expected();
  ASSERT_EQ(expected.size(), 4U);
  EXPECT_NEAR(expected[1], 0, 0.003);
  EXPECT_NEAR(expected[2], std::log(1.03), 0.003);
  EXPECT_GT(expected[3], expected[2]);
}

TEST(Neighbours, weighs_a_near_shape_more_than_a_far_one) {
  Landscape landscape(9, 0, 0);
  const Neighbours known{landscape.known(128, 2), landscape.known(64 * 256, 8)};
  EXPECT_EQ(by_merit(landscape.space.candidates, landscape.space.problem, known, 1).front(), 2U);
}

}  // namespace
}  // namespace tilewright::testing
