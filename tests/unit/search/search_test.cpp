// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/search.hpp"

#include <fmt/format.h>

#include "tests/unit/search/landscape.hpp"
#include "tuner/search/leaders.hpp"

namespace tilewright::testing::search_test {
namespace {

TEST(Search, tries_no_more_than_its_bound_and_says_what_was_not_reached) {
  Landscape landscape(30, 5);
  Search search(landscape.space, "exhaustive", 12);
  EXPECT_EQ(landscape.run(search).size(), 12U);
  EXPECT_EQ(search.tried(), 12U);
  const Winner best = search.winners().front();
  EXPECT_EQ(best.configs_considered, 30);
  EXPECT_EQ(best.choice.pruned.at("not reached within the bound of trials or time"), 18);
}

TEST(Search, counts_no_trial_that_it_recalls) {
  Landscape landscape(30, 5);
  Search search(landscape.space, "exhaustive", 12);
  for (std::size_t i = 0; i < 6; ++i) search.recall(i, landscape.trial(i, 8));
  EXPECT_EQ(landscape.run(search).size(), 12U);
}

TEST(Search, says_how_many_a_race_dropped) {
  Landscape landscape(30, 5);
  Search search(landscape.space, "race", 0);
  (void)landscape.run(search);
  const Selection choice = search.winners().front().choice;
  int dropped = 0;
  for (const auto& [reason, count] : choice.pruned) dropped += count;
  EXPECT_EQ(dropped + choice.finalists, 30);
}

TEST(Search, says_how_many_leaders_had_no_place_in_the_final) {
  Landscape landscape(kMostFinalists + 3);
  Search search(landscape.space, "race", 0);
  const auto look_at = [&](std::size_t i, LookLength length, double median_ns) {
    Trial trial;
    trial.config = landscape.space.candidates[i];
    trial.look = length;
    trial.timing = Timing{};
    trial.timing->median_ns = median_ns;
    trial.timing->low_ns = median_ns - 10;
    trial.timing->high_ns = median_ns + 10;
    search.tell(i, trial);
  };
  for (std::size_t i = 0; i < kMostFinalists + 2; ++i) look_at(i, LookLength::brief, 100);
  look_at(kMostFinalists + 2, LookLength::brief, 500);
  for (const std::size_t i : search.finalists()) look_at(i, LookLength::final, 100);
  const Selection choice = search.winners().front().choice;
  EXPECT_EQ(choice.pruned.at("dropped after a brief look: one of more leaders than a final takes"), 2);
  EXPECT_EQ(choice.pruned.at("dropped after a brief look: slower than the fastest by more than their intervals"), 1);
}

TEST(Search, holds_a_final_among_those_that_may_be_the_fastest) {
  Landscape landscape(30, 5);
  landscape.times[20] = 1002;
  Search search(landscape.space, "exhaustive", 0);
  for (auto looks = search.ask(1); !looks.empty(); looks = search.ask(1)) {
    search.tell(looks.front().candidate, landscape.answer(looks.front()));
  }
  const std::vector<std::size_t> met = search.finalists();
  EXPECT_EQ(std::set<std::size_t>(met.begin(), met.end()), (std::set<std::size_t>{5, 20}));
  for (const std::size_t i : met) search.tell(i, landscape.trial(i, 8, LookLength::final));
  EXPECT_TRUE(search.finalists().empty());
}

TEST(Search, holds_a_final_of_its_own_for_one_that_is_clearly_the_fastest) {
  Landscape landscape(10, 5);
  Search search(landscape.space, "exhaustive", 0);
  (void)landscape.run(search);
  EXPECT_EQ(search.winners().front().trial.look, LookLength::final);
  EXPECT_EQ(search.winners().front().choice.finalists, 1);
  EXPECT_TRUE(search.finalists().empty());
}

TEST(Search, holds_one_final_for_those_with_specialised_dims_and_those_without) {
  Landscape landscape(12, 0);
  for (std::size_t i = 0; i < 12; ++i) {
    landscape.space.candidates[i].values.emplace_back("static_dims", i == 0 ? 1 : 0);
  }
  landscape.times[7] = landscape.times[8] =
      1020;  // of those without, two are the fastest; config 0 is the fastest of all
  Search search(landscape.space, "exhaustive", 0);
  (void)landscape.run(search);
  EXPECT_EQ(search.winners().at(0).trial.config, landscape.space.candidates[0]);
  EXPECT_EQ(search.winners().at(0).choice.finalists, 3);
  EXPECT_EQ(search.winners().at(1).choice.finalists, 2);
}

TEST(Search, of_every_strategy_gives_the_same_answers_to_the_same_trials_and_seed) {
  for (const std::string& name : strategy_names()) {
    std::vector<std::vector<std::size_t>> orders;
    for (int repeat = 0; repeat < 2; ++repeat) {
      Landscape landscape(40, 9, 0.005, 3);
      landscape.space.seed = 7;
      Search search(landscape.space, name, 0);
      orders.push_back(landscape.run(search));
    }
    EXPECT_EQ(orders[0], orders[1]) << name;
  }
}

TEST(Leaders, widens_brief_looks_more_than_whole_ones) {
  const Landscape landscape(1, 0, 0);
  const Likely brief = likely(landscape.trial(0, 2, LookLength::brief));
  const Likely whole = likely(landscape.trial(0, 8));
  EXPECT_LT(brief.low_ns, whole.low_ns);
  EXPECT_GT(brief.high_ns, whole.high_ns);
}

TEST(Leaders, are_never_those_that_failed) {
  Landscape landscape(2);
  std::vector<std::optional<Trial>> trials{landscape.trial(0, 8), landscape.trial(1, 8)};
  trials[0]->status = TrialStatus::wrong_result;
  EXPECT_EQ(leaders(trials).best, std::vector<std::size_t>{1});
  EXPECT_TRUE(finalists({std::nullopt, std::nullopt}).empty());
}

TEST(Leaders, are_no_more_than_a_final_holds_of_those_that_could_all_be_the_fastest) {
  std::vector<std::optional<Trial>> trials;
  for (std::size_t i = 0; i < kMostFinalists + 1; ++i) {
    Trial trial;
    trial.config = Config::parse(fmt::format("a{{vec={},static_dims=0}}", i));
    trial.timing = Timing{};
    trial.timing->median_ns = 100;
    trial.timing->low_ns = 90;
    trial.timing->high_ns = 110;
    trials.emplace_back(std::move(trial));
  }
  EXPECT_EQ(finalists(trials).size(), std::size_t{kMostFinalists});
}

}  // namespace
}  // namespace tilewright::testing::search_test
