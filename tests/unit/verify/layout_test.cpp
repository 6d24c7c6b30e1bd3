// SPDX-License-Identifier: Apache-2.0
#include "tuner/verify/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tilewright {
namespace {

TEST(TensorLayout, knows_gaps_from_rows) {
  const TensorLayout layout(5, {{3, 8}});
  EXPECT_EQ(layout.span(), 21);
  EXPECT_FALSE(layout.in_gap(4));
  EXPECT_TRUE(layout.in_gap(5));
  EXPECT_FALSE(layout.in_gap(8));
  EXPECT_EQ(layout.element(4), 4);
  EXPECT_EQ(layout.element(7), 4);
  EXPECT_EQ(layout.element(8), 5);
  EXPECT_EQ(layout.element(20), 14);
  EXPECT_EQ(TensorLayout(5, {{0, 8}}).span(), 0);
  EXPECT_EQ(TensorLayout(0, {{3, 8}}).span(), 0);
}

/// The index of the element at each offset; -1 in a gap.
std::vector<std::int64_t> places(std::int64_t cols, const std::vector<StrideStep>& steps, std::int64_t span) {
  std::vector<std::int64_t> found(static_cast<std::size_t>(span), -1);
  std::int64_t rows = 1;
  for (const StrideStep& step : steps) rows *= step.extent;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t offset = 0, rest = row;
    for (std::size_t i = steps.size(); i-- > 0; rest /= steps[i].extent) {
      offset += rest % steps[i].extent * steps[i].stride;
    }
    for (std::int64_t c = 0; c < cols; ++c) found.at(static_cast<std::size_t>(offset + c)) = row * cols + c;
  }
  return found;
}

void expect_right(std::int64_t cols, const std::vector<StrideStep>& steps) {
  ASSERT_FALSE(short_stride(steps, cols));
  const TensorLayout layout(cols, steps);
  const std::vector<std::int64_t> expected = places(cols, steps, layout.span());
  std::int64_t last = -1, gaps = 0;
  std::vector<int> visited(expected.size());
  for (const Gaps& each : layout.gaps_by_step()) {
    each.visit([&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++visited.at(static_cast<std::size_t>(i));
    });
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto offset = static_cast<std::int64_t>(i);
    const bool is_gap = expected[i] < 0;
    gaps += is_gap;
    if (!is_gap) last = expected[i];
    EXPECT_EQ(layout.in_gap(offset), is_gap) << offset;
    EXPECT_EQ(layout.element(offset), last) << offset;
    EXPECT_EQ(visited[i], is_gap ? 1 : 0) << offset;
  }
  EXPECT_EQ(layout.gaps(), gaps);
  EXPECT_EQ(layout.span(), layout.elements() + gaps);
}

TEST(TensorLayout, finds_elements_and_gaps_at_strides_of_any_order) {
  expect_right(4, {});
  expect_right(4, {{2, 60}, {3, 20}, {5, 4}});
  expect_right(4, {{2, 70}, {3, 22}, {5, 4}});
  expect_right(4, {{2, 100}, {3, 32}, {5, 6}});
  expect_right(4, {{2, 100}, {3, 5}, {5, 20}});
  expect_right(4, {{2, 4}, {3, 9}, {5, 31}});
  expect_right(4, {{1, 7}, {3, 9}, {1, 5}});
  expect_right(1, {{3, 2}, {2, 1}});
}

TEST(TensorLayout, finds_them_at_random_strides) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t cols = 1 + random() % 5;
    std::vector<StrideStep> steps(random() % 4);
    std::vector<std::size_t> order(steps.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::int64_t span = cols;
    for (const std::size_t i : order) {
      steps[i] = {static_cast<std::int64_t>(1 + random() % 4), span + static_cast<std::int64_t>(random() % 3)};
      span += (steps[i].extent - 1) * steps[i].stride;
    }
    expect_right(cols, steps);
  }
}

}  // namespace
}  // namespace tilewright
