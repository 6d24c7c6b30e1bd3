// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/search/landscape.hpp"

namespace tilewright::testing::race_test {
namespace {

TEST(Race, looks_briefly_at_everything_and_never_longer_at_what_is_far_behind) {
  Landscape landscape(40, 7);
  Search search(landscape.space, "race", 0);
  const std::vector<std::size_t> order = landscape.run(search);
  EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), 40U);
  EXPECT_EQ(search.trials()[30]->look, LookLength::brief);
  EXPECT_EQ(search.trials()[7]->look, LookLength::final);
  EXPECT_EQ(search.winners().front().trial.config, landscape.space.candidates[7]);
  EXPECT_LT(landscape.rounds_made, 40 * (landscape.space.rule.min_rounds + 1) * 35 / 100);
}

TEST(Race, gives_up_on_the_hopeless_after_one_round) {
  Landscape landscape(40, 0);
  Search search(landscape.space, "race", 0);
  (void)landscape.run(search);
  int given_up = 0;
  for (const auto& trial : search.trials()) given_up += trial->timing->low_ns == trial->timing->high_ns ? 1 : 0;
  EXPECT_GT(given_up, 15);
}

TEST(Race, leaves_it_to_the_final_where_many_are_near_the_best) {
  Landscape landscape(20, 0);
  for (double& time : landscape.times) time = 1000;
  landscape.times[11] = 990;
  Search search(landscape.space, "race", 0);
  EXPECT_EQ(landscape.run(search).size(), 20U);
  EXPECT_EQ(search.winners().front().trial.config, landscape.space.candidates[11]);
}

TEST(Race, finds_the_best_among_noisy_rounds_whatever_the_seed) {
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Landscape landscape(60, seed % 60, 0.01, seed);
    landscape.space.seed = seed;
    Search search(landscape.space, "race", 0);
    (void)landscape.run(search);
    const auto winner = static_cast<std::size_t>(search.winners().front().trial.config.value_or("x", -1));
    right += landscape.times[winner] <= 1010 ? 1 : 0;
  }
  EXPECT_GE(right, 38);
}

TEST(Race, keeps_the_best_config_without_specialised_dims_although_it_is_slower) {
  Landscape landscape(12, 0);
  for (std::size_t i = 0; i < 12; ++i) {
    landscape.space.candidates[i].values.emplace_back("static_dims", i < 6 ? 1 : 0);
  }
  landscape.times[9] = 1150;  // the fastest of 6 … 11, 15 % slower than the best
  Search search(landscape.space, "race", 0);
  (void)landscape.run(search);
  const std::vector<Winner> winners = search.winners();
  ASSERT_GE(winners.size(), 2U);
  EXPECT_EQ(winners[0].trial.config, landscape.space.candidates[0]);
  EXPECT_EQ(winners[1].role, WinnerRole::dynamic);
  EXPECT_EQ(winners[1].trial.config, landscape.space.candidates[9]);
  EXPECT_NE(winners[1].trial.look, LookLength::brief);
}

TEST(Race, gives_up_on_a_config_by_the_fastest_of_its_own_kind) {
  Landscape landscape(8, 0, 0);
  for (std::size_t i = 0; i < 8; ++i) {
    landscape.space.candidates[i].values.emplace_back("static_dims", i < 4 ? 1 : 0);
  }
  landscape.times[0] = 1000;
  landscape.times[4] = 1500;
  Search search(landscape.space, "race", 0);
  search.tell(0, landscape.trial(0, 3));
  search.tell(4, landscape.trial(4, 3));
  const std::vector<Look> looks = search.ask(8);
  ASSERT_EQ(looks.size(), 6U);
  for (const Look& look : looks) {
    EXPECT_NEAR(look.rule.give_up_ns, look.candidate < 4 ? 1100 : 1650, 1) << look.candidate;
  }
}

TEST(Race, looks_at_the_base_first_and_wholly) {
  Landscape landscape(9, 0);
  landscape.space.base = landscape.space.candidates[8];
  const auto strategy = race(landscape.space);
  const std::vector<Look> looks = strategy->ask(2);
  EXPECT_EQ(looks[0].candidate, 8U);
  EXPECT_EQ(looks[0].length, LookLength::whole);
  EXPECT_EQ(looks[1].length, LookLength::brief);
}

TEST(Race, begins_with_what_neighbouring_shapes_rank_first) {
  Landscape landscape(30, 4);
  landscape.space.known = {landscape.known(128, 5)};
  EXPECT_NEAR(static_cast<double>(race(landscape.space)->ask(1).front().candidate), 5, 1);
}

TEST(Race, needs_nothing_more_when_all_was_told_before) {
  Landscape landscape(10, 3);
  Search first(landscape.space, "race", 0);
  (void)landscape.run(first);
  Search second(landscape.space, "race", 0);
  for (std::size_t i = 0; i < 10; ++i) second.recall(i, *first.trials()[i]);
  EXPECT_TRUE(second.ask(1).empty());
  EXPECT_TRUE(second.finalists().empty());
  EXPECT_EQ(second.winners().front().trial.config, first.winners().front().trial.config);
}

}  // namespace
}  // namespace tilewright::testing::race_test
