// SPDX-License-Identifier: Apache-2.0
#include "tuner/verify/whole_numbers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "tuner/device/tensor_tools.hpp"

namespace tilewright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using Numbers = std::vector<std::int64_t>;

Numbers numbers(const char* fill, std::vector<std::int64_t> shape, const WholeBounds& bounds, std::uint64_t key = 3) {
  PlannedArg arg;
  arg.shape = std::move(shape);
  Sample sample;
  sample.fill = fill;
  return whole_numbers(arg, sample, bounds, key);
}

TEST(WholeNumbers, of_a_range_are_all_of_it_and_sometimes_the_other_one) {
  const Numbers all = numbers("range", {100, 10}, {3, 7, -100});
  std::set<std::int64_t> values(all.begin(), all.end());
  EXPECT_THAT(values, ElementsAre(-100, 3, 4, 5, 6));
  const auto others = std::ranges::count(all, -100);
  EXPECT_GT(others, 1000 / 16);
  EXPECT_LT(others, 1000 / 4);
  const Numbers inside = numbers("range", {1000}, {0, 2});
  EXPECT_THAT(std::set<std::int64_t>(inside.begin(), inside.end()), ElementsAre(0, 1));
}

TEST(WholeNumbers, of_a_prefix_rise_from_0_to_the_end_in_each_row_and_some_pieces_are_empty) {
  constexpr std::int64_t kRow = 50;
  const Numbers all = numbers("prefix", {4, kRow}, {0, 100000});
  int empty = 0;
  for (std::int64_t row = 0; row < 4; ++row) {
    const auto begin = all.begin() + row * kRow, end = begin + kRow;
    EXPECT_EQ(*begin, 0);
    EXPECT_EQ(end[-1], 100000);
    EXPECT_TRUE(std::is_sorted(begin, end));
    for (auto i = begin + 1; i != end; ++i) empty += *i == i[-1] ? 1 : 0;
  }
  EXPECT_GT(empty, 4);
  EXPECT_FALSE(std::equal(all.begin(), all.begin() + kRow, all.begin() + kRow)) << "rows are drawn each on its own";
  EXPECT_THAT(numbers("prefix", {2}, {0, 9}), ElementsAre(0, 9));
  EXPECT_THAT(numbers("prefix", {1}, {0, 9}), ElementsAre(0));
  EXPECT_THAT(numbers("prefix", {3}, {0, 0}), ElementsAre(0, 0, 0));
}

TEST(WholeNumbers, of_a_permutation_are_there_once_and_again_only_after_all) {
  Numbers some = numbers("permutation", {5, 7}, {0, 50});
  std::ranges::sort(some);
  EXPECT_EQ(std::ranges::adjacent_find(some), some.end());
  EXPECT_GE(some.front(), 0);
  EXPECT_LT(some.back(), 50);
  const Numbers many = numbers("permutation", {25}, {0, 10});
  for (std::int64_t value = 0; value < 10; ++value) {
    EXPECT_EQ(std::count(many.begin(), many.begin() + 10, value), 1);
    EXPECT_EQ(std::count(many.begin() + 10, many.begin() + 20, value), 1);
  }
  EXPECT_FALSE(std::is_sorted(many.begin(), many.begin() + 10));
}

TEST(WholeNumbers, of_a_permutation_of_many_for_few_elements_are_drawn_as_those_of_few) {
  constexpr std::int64_t kTo = 1000;
  const Numbers few = numbers("permutation", {8}, {0, kTo}, 5);
  Numbers all(kTo);
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = 0; i < few.size(); ++i) {
    std::swap(all[i], all[i + utility::random_bits(5, i) % (static_cast<std::size_t>(kTo) - i)]);
    EXPECT_EQ(few[i], all[i]);
  }
  Numbers huge = numbers("permutation", {100}, {0, std::numeric_limits<std::int64_t>::max()});
  std::ranges::sort(huge);
  EXPECT_EQ(std::ranges::adjacent_find(huge), huge.end());
  EXPECT_GE(huge.front(), 0);
}

TEST(WholeNumbers, follow_from_the_key) {
  for (const char* fill : {"range", "prefix", "permutation"}) {
    EXPECT_EQ(numbers(fill, {40}, {0, 1000}, 7), numbers(fill, {40}, {0, 1000}, 7)) << fill;
    EXPECT_NE(numbers(fill, {40}, {0, 1000}, 7), numbers(fill, {40}, {0, 1000}, 8)) << fill;
  }
}

TEST(WholeNumbers, of_an_empty_tensor_are_none) {
  for (const char* fill : {"range", "prefix", "permutation"}) EXPECT_THAT(numbers(fill, {3, 0}, {0, 5}), Numbers{});
}

}  // namespace
}  // namespace tilewright
