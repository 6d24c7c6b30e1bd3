// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/search/landscape.hpp"

namespace tilewright::testing::exhaustive_test {
namespace {

TEST(Exhaustive, asks_for_every_candidate_wholly_in_order) {
  const Landscape landscape(4);
  const auto strategy = exhaustive(landscape.space);
  EXPECT_EQ(candidates_of(strategy->ask(9)), (std::vector<std::size_t>{0, 1, 2, 3}));
  for (const Look& look : strategy->ask(9)) {
    EXPECT_EQ(look.length, LookLength::whole);
    EXPECT_EQ(look.rule.max_rounds, landscape.space.rule.max_rounds);
  }
  EXPECT_EQ(candidates_of(strategy->ask(2)), (std::vector<std::size_t>{0, 1}));
}

TEST(Exhaustive, leaves_out_what_it_was_told) {
  const Landscape landscape(5);
  const auto strategy = exhaustive(landscape.space);
  strategy->tell(0, landscape.trial(0, 9));
  strategy->tell(3, Trial{});
  strategy->tell(4, landscape.trial(4, 9));
  EXPECT_EQ(candidates_of(strategy->ask(9)), (std::vector<std::size_t>{1, 2}));
}

TEST(Exhaustive, looks_again_at_what_was_looked_at_briefly) {
  const Landscape landscape(2);
  const auto strategy = exhaustive(landscape.space);
  Trial brief = landscape.trial(0, 2);
  brief.look = LookLength::brief;
  strategy->tell(0, brief);
  EXPECT_EQ(candidates_of(strategy->ask(9)), (std::vector<std::size_t>{0, 1}));
}

TEST(Exhaustive, begins_with_the_base) {
  Landscape landscape(3);
  landscape.space.base = landscape.space.candidates[2];
  EXPECT_EQ(candidates_of(exhaustive(landscape.space)->ask(9)), (std::vector<std::size_t>{2, 0, 1}));
}

TEST(Exhaustive, of_nothing_asks_nothing) {
  const Landscape landscape(0);
  EXPECT_TRUE(exhaustive(landscape.space)->ask(9).empty());
}

TEST(Exhaustive, refuses_a_candidate_that_does_not_exist) {
  const Landscape landscape(2);
  EXPECT_THROW(exhaustive(landscape.space)->tell(2, Trial{}), std::out_of_range);
}

TEST(RandomOrder, is_a_draw_without_replacement_that_a_seed_fixes) {
  Landscape landscape(50);
  const auto first = candidates_of(random_order(landscape.space)->ask(50));
  EXPECT_EQ(std::set<std::size_t>(first.begin(), first.end()).size(), 50U);
  EXPECT_EQ(candidates_of(random_order(landscape.space)->ask(50)), first);
  landscape.space.seed = 2;
  EXPECT_NE(candidates_of(random_order(landscape.space)->ask(50)), first);
}

TEST(MakeStrategy, knows_every_name_and_suggests_the_nearest) {
  const Landscape landscape(1);
  for (const std::string& name : strategy_names()) EXPECT_EQ(make_strategy(name, landscape.space)->name(), name);
  try {
    (void)make_strategy("rase", landscape.space);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean race?"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tilewright::testing::exhaustive_test
