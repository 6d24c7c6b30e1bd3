// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tuner/search/strategy.hpp"

namespace tilewright {
namespace {

std::vector<std::size_t> ask_all(Strategy& strategy) {
  std::vector<std::size_t> asked;
  while (const auto next = strategy.ask()) asked.push_back(*next);
  return asked;
}

TEST(Exhaustive, asks_for_every_candidate_once_in_order) {
  const auto strategy = exhaustive(4);
  EXPECT_EQ(ask_all(*strategy), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(strategy->ask(), std::nullopt);
}

TEST(Exhaustive, leaves_out_what_it_was_told_before) {
  const auto strategy = exhaustive(5);
  strategy->tell(0, Trial{});
  strategy->tell(3, Trial{});
  strategy->tell(4, Trial{});
  EXPECT_EQ(ask_all(*strategy), (std::vector<std::size_t>{1, 2}));
}

TEST(Exhaustive, may_be_told_after_asking_ahead_in_any_order) {
  const auto strategy = exhaustive(3);
  EXPECT_EQ(strategy->ask(), 0U);
  EXPECT_EQ(strategy->ask(), 1U);
  strategy->tell(1, Trial{});
  strategy->tell(0, Trial{});
  EXPECT_EQ(strategy->ask(), 2U);
  EXPECT_EQ(strategy->ask(), std::nullopt);
}

TEST(Exhaustive, of_nothing_asks_nothing) { EXPECT_EQ(exhaustive(0)->ask(), std::nullopt); }

TEST(Exhaustive, refuses_a_candidate_that_does_not_exist) {
  EXPECT_THROW(exhaustive(2)->tell(2, Trial{}), std::out_of_range);
}

TEST(Exhaustive, is_stored_under_its_name) { EXPECT_EQ(exhaustive(1)->name(), "exhaustive"); }

}  // namespace
}  // namespace tilewright
