// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/parts.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "cache/predict/nearest.hpp"
#include "tuner/learn/drawn_shapes.hpp"

namespace tilewright::test {
namespace {

using testing::Each;
using testing::SizeIs;

Parts::LeavesOut itself(const ShapeDims& shape) {
  return [shape](const ShapeDims& other) { return other == shape; };
}

Parts::LeavesOut relatives(const ShapeDims& shape) {
  return [shape](const ShapeDims& other) { return shares_a_dim(other, shape); };
}

// Eight shapes of each of four rows, with columns of their own, and eight that share nothing.
std::vector<ShapeDims> families() {
  std::vector<ShapeDims> shapes;
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t rows = 1; rows <= 4; ++rows) shapes.push_back({rows, 1000 + 10 * i + rows});
    shapes.push_back({100 + i, 2000 + i});
  }
  return shapes;
}

TEST(Parts, leave_out_what_each_of_their_shapes_leaves_out) {
  const std::vector<ShapeDims> shapes = families();
  const Parts parts(shapes, shapes, relatives, 5);
  for (std::size_t at = 0; at < shapes.size(); ++at) {
    for (const ShapeDims& other : shapes) {
      if (shares_a_dim(other, shapes[at])) {
        EXPECT_TRUE(parts.left_out(parts.of(at)).contains(other)) << shapes[at][0] << 'x' << shapes[at][1];
      }
    }
  }
}

TEST(Parts, keep_together_what_leaves_out_the_same) {
  const std::vector<ShapeDims> shapes = families();
  const Parts parts(shapes, shapes, relatives, 5);
  // A family each, and what shares nothing where least is left out.
  for (std::size_t part = 0; part < 5; ++part) EXPECT_THAT(parts.left_out(part), SizeIs(8));
}

TEST(Parts, spread_what_leaves_out_itself_in_turns) {
  std::vector<ShapeDims> shapes;
  for (std::int64_t i = 0; i < 12; ++i) shapes.push_back({i + 1, 7});
  const Parts parts(shapes, shapes, itself, 4);
  for (std::size_t at = 0; at < shapes.size(); ++at) EXPECT_EQ(parts.of(at), at % 4);
}

TEST(Parts, are_no_more_than_shapes_and_one_at_least) {
  const std::vector<ShapeDims> shapes{{1, 1}, {2, 2}};
  const Parts few(shapes, shapes, itself, 16);
  EXPECT_THAT(std::vector({few.left_out(0), few.left_out(1)}), Each(SizeIs(1)));
  EXPECT_THROW(static_cast<void>(few.left_out(2)), std::out_of_range);
  EXPECT_TRUE(Parts({}, shapes, itself, 16).left_out(0).empty());
}

TEST(Parts, count_only_what_is_tuned) {
  const Parts parts({{1, 1}, {1, 2}}, {{1, 5}, {3, 3}}, relatives, 1);
  EXPECT_EQ(parts.left_out(0), (std::set<ShapeDims>{{1, 5}}));
}

}  // namespace
}  // namespace tilewright::test
