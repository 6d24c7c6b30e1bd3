// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/strides.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tilewright::strides_test {
namespace {

constexpr std::int64_t kRow = 64;

/// The index of the first stride that is too short, or -1.
int short_at(const std::vector<StrideStep>& steps) {
  const auto mistake = short_stride(steps, kRow);
  return mistake ? static_cast<int>(mistake->index) : -1;
}

TEST(Strides, that_keep_elements_apart_may_have_any_order_and_gaps) {
  EXPECT_EQ(short_at({}), -1) << "a dense tensor has none";
  EXPECT_EQ(short_at({{8, 64}}), -1);
  EXPECT_EQ(short_at({{2, 16 * 8 * 64}, {16, 8 * 64}, {8, 64}}), -1) << "dense";
  EXPECT_EQ(short_at({{2, 16 * 8 * 64}, {16, 64}, {8, 16 * 64}}), -1) << "heads before tokens";
  EXPECT_EQ(short_at({{2, 64}, {16, 3 * 128}, {8, 16 * 3 * 128}}), -1) << "batches inside";
  EXPECT_EQ(short_at({{2, 100'000}, {16, 1000}, {8, 72}}), -1) << "gaps everywhere";
}

TEST(Strides, that_are_less_than_a_row_are_found_whatever_they_step_over) {
  EXPECT_EQ(short_at({{8, 63}}), 0);
  EXPECT_EQ(short_at({{1, 63}}), 0);
  EXPECT_EQ(short_at({{2, 1024}, {4, 64}, {4, 0}}), 2);
  EXPECT_EQ(short_at({{2, -1024}, {4, 64}}), 0);
  EXPECT_TRUE(short_stride(std::vector<StrideStep>{{8, 63}}, kRow)->below_row);
}

TEST(Strides, that_are_less_than_what_smaller_ones_go_over_are_found) {
  EXPECT_EQ(short_at({{2, 511}, {8, 64}}), 0);
  EXPECT_EQ(short_at({{8, 64}, {2, 511}}), 1);
  EXPECT_EQ(short_at({{8, 64}, {2, 64}}), 0) << "of two equal ones the inner comes first";
  EXPECT_EQ(short_at({{2, 512}, {16, 513}, {8, 64}}), 1);
  const auto mistake = short_stride(std::vector<StrideStep>{{2, 500}, {8, 64}}, kRow);
  ASSERT_TRUE(mistake);
  EXPECT_EQ(mistake->least, 512);
  EXPECT_FALSE(mistake->below_row);
}

TEST(Strides, over_one_are_judged_by_the_row_alone) {
  EXPECT_EQ(short_at({{1, 64}, {16, 512}, {8, 64}}), -1);
  EXPECT_EQ(short_at({{2, 512}, {1, 100}, {8, 64}}), -1);
}

TEST(Strides, beyond_all_numbers_are_no_overflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(short_at({{3, kMost}}), -1);
  EXPECT_EQ(short_at({{2, kMost}, {3, kMost - 1}}), -1) << "a span without a number is taken for the largest one";
  EXPECT_EQ(short_at({{2, kMost - 1}, {3, kMost - 2}}), 0);
}

}  // namespace
}  // namespace tilewright::strides_test
