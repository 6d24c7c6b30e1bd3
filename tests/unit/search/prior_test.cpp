// SPDX-License-Identifier: Apache-2.0
// Expectations from neighbouring shapes, and the order of first looks at candidates.
#include "tuner/search/prior.hpp"

#include <algorithm>
#include <cmath>

#include "tests/unit/search/landscape.hpp"

namespace tilewright::testing::prior_test {
namespace {

TEST(Prior, expects_what_was_seen_at_a_neighbour_and_more_of_what_is_like_nothing_there) {
  Landscape landscape(64, 1, 0);
  Neighbour known = landscape.known(128, 1);
  known.trials.resize(4);
  landscape.space.known = {known};
  const std::vector<double> expected = expected_losses(landscape.space);
  ASSERT_EQ(expected.size(), 64U);
  EXPECT_LT(expected[1], expected[3]);
  EXPECT_LT(expected[3], expected[8]);
  EXPECT_NEAR(expected[63], std::log(2.0), 0.02);
}

TEST(Prior, expects_nothing_where_nothing_is_known) {
  const Landscape landscape(4, 1, 0);
  EXPECT_EQ(expected_losses(landscape.space), std::vector<double>(4, 0));
}

TEST(Prior, weighs_a_near_shape_more_than_a_far_one) {
  Landscape landscape(9, 0, 0);
  landscape.space.known = {landscape.known(128, 2), landscape.known(64 * 256, 8)};
  EXPECT_EQ(by_merit(landscape.space).front(), 2U);
}

TEST(Prior, weighs_the_same_dtype_more_than_another) {
  Landscape landscape(9, 0, 0);
  Neighbour other = landscape.known(64, 8);
  other.problem.spec.dtype = DType::f16;
  landscape.space.problem.spec.dtype = DType::bf16;
  landscape.space.known = {other, landscape.known(64, 2)};
  EXPECT_EQ(by_merit(landscape.space).front(), 2U);
}

TEST(Prior, begins_with_the_winners_of_the_same_dims_and_of_the_nearest) {
  Landscape landscape(60, 0, 0);
  const auto won = [&](std::int64_t dim, std::size_t winner, DType dtype) {
    Neighbour known = landscape.known(dim, 3);
    known.problem.spec.dtype = dtype;
    known.winner = landscape.space.candidates[winner];
    return known;
  };
  const DType own = landscape.space.problem.spec.dtype, other = own == DType::f16 ? DType::f32 : DType::f16;
  const std::int64_t dim = landscape.space.problem.dims.front().second;
  const auto first = [&] {
    const std::vector<std::size_t> order = by_merit(landscape.space);
    EXPECT_EQ(std::set(order.begin(), order.end()).size(), 60U);
    return std::vector(order.begin(), order.begin() + 3);
  };
  landscape.space.known = {won(512, 50, own), landscape.known(4096, 30), won(70, 40, own), won(dim, 45, other)};
  EXPECT_EQ(first(), (std::vector<std::size_t>{45, 40, 50}));
  // Its own, of an older source, is nearer still.
  landscape.space.known.push_back(won(dim, 20, own));
  EXPECT_EQ(first(), (std::vector<std::size_t>{20, 45, 40}));
}

TEST(Prior, draws_of_every_implementation_in_turn_where_nothing_is_known) {
  Landscape landscape(60);
  for (std::size_t i = 55; i < 60; ++i) landscape.space.candidates[i].implementation = "q";
  std::vector<std::size_t> order = by_merit(landscape.space);
  const auto of_q = std::count_if(order.begin(), order.begin() + 10, [](std::size_t i) { return i >= 55; });
  EXPECT_EQ(of_q, 5);
  EXPECT_EQ(by_merit(landscape.space), order);
  landscape.space.seed = 5;
  EXPECT_NE(by_merit(landscape.space), order);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(std::unique(order.begin(), order.end()) - order.begin(), 60);
}

}  // namespace
}  // namespace tilewright::testing::prior_test
