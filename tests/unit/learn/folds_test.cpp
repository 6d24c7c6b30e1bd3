// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/folds.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "cache/predict/nearest.hpp"
#include "tuner/learn/drawn_shapes.hpp"

namespace tilewright::test::folds_test {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

Folds::LeavesOut itself(const ShapeDims& shape) {
  return [shape](const ShapeDims& other) { return other == shape; };
}

Folds::LeavesOut relatives(const ShapeDims& shape) {
  return [shape](const ShapeDims& other) { return shares_a_dim(other, shape); };
}

// Eight shapes for each of four row counts, with distinct columns, and eight that share nothing.
std::vector<ShapeDims> families() {
  std::vector<ShapeDims> shapes;
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t rows = 1; rows <= 4; ++rows) shapes.push_back({rows, 1000 + 10 * i + rows});
    shapes.push_back({100 + i, 2000 + i});
  }
  return shapes;
}

TEST(Folds, leave_out_what_each_of_their_shapes_leaves_out) {
  const std::vector<ShapeDims> shapes = families();
  const Folds folds(shapes, shapes, relatives, 5);
  for (std::size_t at = 0; at < shapes.size(); ++at) {
    for (const ShapeDims& other : shapes) {
      if (shares_a_dim(other, shapes[at])) {
        EXPECT_TRUE(folds.left_out(folds.of(at)).contains(other)) << shapes[at][0] << 'x' << shapes[at][1];
      }
    }
  }
}

TEST(Folds, keep_together_what_leaves_out_the_same) {
  const std::vector<ShapeDims> shapes = families();
  const Folds folds(shapes, shapes, relatives, 5);
  // A fold for each family, and one for the shapes that share nothing.
  for (std::size_t fold = 0; fold < 5; ++fold) EXPECT_THAT(folds.left_out(fold), SizeIs(8));
}

TEST(Folds, spread_what_leaves_out_itself_in_turns) {
  std::vector<ShapeDims> shapes;
  for (std::int64_t i = 0; i < 12; ++i) shapes.push_back({i + 1, 7});
  const Folds folds(shapes, shapes, itself, 4);
  for (std::size_t at = 0; at < shapes.size(); ++at) EXPECT_EQ(folds.of(at), at % 4);
}

TEST(Folds, are_no_more_than_shapes_and_one_at_least) {
  const std::vector<ShapeDims> shapes{{1, 1}, {2, 2}};
  const Folds few(shapes, shapes, itself, 16);
  EXPECT_THAT(std::vector({few.left_out(0), few.left_out(1)}), Each(SizeIs(1)));
  EXPECT_THROW(static_cast<void>(few.left_out(2)), std::out_of_range);
  EXPECT_TRUE(Folds({}, shapes, itself, 16).left_out(0).empty());
}

TEST(Folds, count_only_what_is_tuned) {
  const Folds folds({{1, 1}, {1, 2}}, {{1, 5}, {3, 3}}, relatives, 1);
  EXPECT_EQ(folds.left_out(0), (std::set<ShapeDims>{{1, 5}}));
}

}  // namespace
}  // namespace tilewright::test::folds_test
