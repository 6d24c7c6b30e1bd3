// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/arithmetic.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tilewright::checked::arithmetic_test {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TEST(Arithmetic, gives_results_up_to_the_last_number_and_nothing_beyond) {
  EXPECT_EQ(add(kMost - 1, 1), kMost);
  EXPECT_EQ(add(kMost, 1), std::nullopt);
  EXPECT_EQ(add(kLeast, -1), std::nullopt);
  EXPECT_EQ(subtract(kLeast + 1, 1), kLeast);
  EXPECT_EQ(subtract(kLeast, 1), std::nullopt);
  EXPECT_EQ(subtract(0, kLeast), std::nullopt);
  EXPECT_EQ(multiply(std::int64_t{1} << 31, std::int64_t{1} << 31), std::int64_t{1} << 62);
  EXPECT_EQ(multiply(std::int64_t{1} << 32, std::int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(multiply(kLeast, -1), std::nullopt);
}

TEST(Arithmetic, divides_towards_zero_and_the_remainder_has_the_sign_of_the_left_side) {
  EXPECT_EQ(divide(7, 2), 3);
  EXPECT_EQ(divide(-7, 2), -3);
  EXPECT_EQ(divide(7, -2), -3);
  EXPECT_EQ(divide(-7, -2), 3);
  EXPECT_EQ(remainder(7, 2), 1);
  EXPECT_EQ(remainder(-7, 2), -1);
  EXPECT_EQ(remainder(7, -2), 1);
}

TEST(Arithmetic, survives_the_least_number_divided_by_minus_one) {
  EXPECT_EQ(divide(kLeast, -1), std::nullopt);
  EXPECT_EQ(divide(kMost, -1), -kMost);
  EXPECT_EQ(remainder(kLeast, -1), 0);
}

TEST(Arithmetic, ceil_div_agrees_with_float64_for_either_sign) {
  for (std::int64_t a = -20; a <= 20; ++a) {
    for (std::int64_t b = 1; b <= 7; ++b) {
      EXPECT_EQ(static_cast<double>(ceil_div(a, b)), std::ceil(static_cast<double>(a) / static_cast<double>(b)))
          << a << " / " << b;
    }
  }
  EXPECT_EQ(ceil_div(kMost, 1), kMost);
  EXPECT_EQ(ceil_div(kMost, 2), kMost / 2 + 1);
}

TEST(Arithmetic, round_up_gives_the_next_multiple) {
  EXPECT_EQ(round_up(0, 8), 0);
  EXPECT_EQ(round_up(1, 8), 8);
  EXPECT_EQ(round_up(8, 8), 8);
  EXPECT_EQ(round_up(-9, 8), -8);
  EXPECT_EQ(round_up(kMost, 2), std::nullopt);
}

TEST(Arithmetic, pow2_ceil_is_one_for_all_that_is_not_above_one) {
  EXPECT_EQ(pow2_ceil(kLeast), 1);
  EXPECT_EQ(pow2_ceil(0), 1);
  EXPECT_EQ(pow2_ceil(1), 1);
  EXPECT_EQ(pow2_ceil(2), 2);
  EXPECT_EQ(pow2_ceil(3), 4);
  EXPECT_EQ(pow2_ceil(1025), 2048);
  EXPECT_EQ(pow2_ceil(std::int64_t{1} << 62), std::int64_t{1} << 62);
  EXPECT_EQ(pow2_ceil((std::int64_t{1} << 62) + 1), std::nullopt);
}

TEST(Arithmetic, floor_log2_rounds_down) {
  EXPECT_EQ(floor_log2(1), 0);
  EXPECT_EQ(floor_log2(2), 1);
  EXPECT_EQ(floor_log2(1023), 9);
  EXPECT_EQ(floor_log2(1024), 10);
  EXPECT_EQ(floor_log2(kMost), 62);
}

}  // namespace
}  // namespace tilewright::checked::arithmetic_test
