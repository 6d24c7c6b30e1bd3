// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/neighbours.hpp"

#include <algorithm>
#include <iterator>

#include "tests/unit/search/landscape.hpp"

namespace tilewright::testing::neighbours_test {
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

TEST(Neighbours, keeps_one_of_the_same_dims_however_many_are_nearer) {
  const auto of = [](std::int64_t cols, DType dtype, const char* add) {
    Problem problem = shape(8, cols);
    problem.spec.dtype = dtype;
    problem.spec.attributes = {{"add", add}};
    return problem;
  };
  const Problem searched = of(16, DType::f16, "no"), same = of(16, DType::f16, "yes");
  Neighbours all;
  for (const Problem& problem : {of(16, DType::f32, "yes"), same}) all.push_back({problem, {}, std::nullopt});
  for (const std::int64_t cols : {15, 17, 18}) all.push_back({of(cols, DType::f16, "no"), {}, std::nullopt});
  const Neighbours kept = nearest(all, searched, 2);
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].problem, of(17, DType::f16, "no"));
  EXPECT_EQ(kept[1].problem, same);
  EXPECT_EQ(nearest(all, searched, 4)[1].problem, of(15, DType::f16, "no"));
  EXPECT_TRUE(nearest(all, searched, 0).empty());
}

}  // namespace
}  // namespace tilewright::testing::neighbours_test
