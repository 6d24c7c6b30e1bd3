// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "tuner/measure/measure.hpp"

namespace tilewright {
namespace {

std::vector<double> numbers_to(int count) {
  std::vector<double> values;
  for (int i = count; i >= 1; --i) values.push_back(i);
  return values;
}

TEST(Statistics, median_of_an_odd_and_of_an_even_number_of_rounds) {
  EXPECT_DOUBLE_EQ(summarise({5, 1, 3}).median_ns, 3);
  EXPECT_DOUBLE_EQ(summarise({5, 1, 3, 4}).median_ns, 3.5);
}

TEST(Statistics, keeps_the_rounds_in_the_order_measured) {
  const Timing timing = summarise({5, 1, 3});
  EXPECT_EQ(timing.rounds_ns, (std::vector<double>{5, 1, 3}));
  EXPECT_DOUBLE_EQ(timing.min_ns, 1);
}

// Expected values: the ranks of the exact binomial interval, from tables of the sign test.
TEST(Statistics, interval_has_the_ranks_of_the_exact_binomial_one) {
  const struct {
    int count, low, high;
  } table[] = {{6, 1, 6},   {8, 1, 8},    {9, 2, 8},    {10, 2, 9},   {15, 4, 12},
               {20, 6, 15}, {30, 10, 21}, {50, 18, 33}, {100, 40, 61}};
  for (const auto& row : table) {
    const Timing timing = summarise(numbers_to(row.count));
    EXPECT_DOUBLE_EQ(timing.low_ns, row.low) << row.count;
    EXPECT_DOUBLE_EQ(timing.high_ns, row.high) << row.count;
  }
}

TEST(Statistics, interval_of_few_rounds_is_all_of_them) {
  const Timing timing = summarise({4, 2, 3});
  EXPECT_DOUBLE_EQ(timing.low_ns, 2);
  EXPECT_DOUBLE_EQ(timing.high_ns, 4);
  EXPECT_DOUBLE_EQ(summarise({7}).low_ns, 7);
  EXPECT_DOUBLE_EQ(summarise({7}).high_ns, 7);
}

TEST(Statistics, interval_of_very_many_rounds_does_not_underflow) {
  const Timing timing = summarise(numbers_to(5000));
  // Normal approximation of the ranks: n/2 ± 1.96·√n/2.
  EXPECT_NEAR(timing.low_ns, 2500 - 1.96 * std::sqrt(5000.0) / 2, 2);
  EXPECT_NEAR(timing.high_ns, 2500 + 1.96 * std::sqrt(5000.0) / 2, 2);
}

TEST(Statistics, of_no_rounds_is_a_mistake_of_the_caller) { EXPECT_THROW((void)summarise({}), std::invalid_argument); }

// Rounds like a GPU's: a floor, a skewed tail above it and occasional outliers.
TEST(Statistics, interval_covers_the_true_median_in_95_of_100_measurements) {
  std::mt19937_64 random(20240607);
  std::exponential_distribution<double> tail(1.0);
  std::uniform_real_distribution<double> chance(0, 1);
  const auto round = [&] { return 1000 + 5 * tail(random) + (chance(random) < 0.02 ? 300 : 0); };
  std::vector<double> many(2'000'001);
  for (double& value : many) value = round();
  std::nth_element(many.begin(), many.begin() + 1'000'000, many.end());
  const double truth = many[1'000'000];

  constexpr int kMeasurements = 4000;
  for (const int rounds : {9, 20, 50}) {
    int covered = 0;
    for (int i = 0; i < kMeasurements; ++i) {
      std::vector<double> values(static_cast<std::size_t>(rounds));
      for (double& value : values) value = round();
      const Timing timing = summarise(values);
      covered += timing.low_ns <= truth && truth <= timing.high_ns;
    }
    const double share = static_cast<double>(covered) / kMeasurements;
    // At least 95 %, and at most what the next narrower interval allows; the deviation of a share is 0.35 %.
    EXPECT_GE(share, 0.94) << rounds;
    EXPECT_LE(share, 0.98) << rounds;
  }
}

}  // namespace
}  // namespace tilewright
