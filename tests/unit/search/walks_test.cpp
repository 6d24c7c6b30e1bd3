// SPDX-License-Identifier: Apache-2.0
// The strategies that leave configs out: local and model.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "tests/unit/search/landscape.hpp"
#include "tuner/search/prior.hpp"
#include "tuner/search/surrogate.hpp"

namespace tilewright::testing::walks_test {
namespace {

TEST(Local, starts_at_the_winners_of_neighbouring_shapes_and_walks_to_the_best) {
  Landscape landscape(60, 33);
  landscape.space.known = {landscape.known(128, 32), landscape.known(32, 30)};
  Search search(landscape.space, "local", 0);
  const std::vector<std::size_t> order = landscape.run(search);
  EXPECT_EQ(order.at(0), 32U);
  EXPECT_EQ(order.at(1), 30U);
  EXPECT_LE(order.size(), 9U);
  EXPECT_EQ(search.winners().front().trial.config, landscape.space.candidates[33]);
}

TEST(Local, starts_at_the_likeness_of_a_winner_that_is_not_legal_here) {
  Landscape landscape(60, 33);
  Neighbour known = landscape.known(128, 30);
  known.winner = Config{"p", {{"x", 70}}};
  landscape.space.known = {known};
  EXPECT_EQ(local(landscape.space)->ask(1).front().candidate, 59U);
}

TEST(Local, draws_24_starts_where_nothing_is_known_and_goes_on_from_the_best_of_them) {
  Landscape landscape(600, 33);
  const auto starts = candidates_of(local(landscape.space)->ask(99));
  EXPECT_EQ(starts.size(), 24U);
  EXPECT_EQ(candidates_of(local(landscape.space)->ask(99)), starts);
  landscape.space.seed = 5;
  EXPECT_NE(candidates_of(local(landscape.space)->ask(99)), starts);
  Search search(landscape.space, "local", 0);
  EXPECT_EQ(landscape.run(search).size(), 88U);
  EXPECT_EQ(search.winners().front().trial.config, landscape.space.candidates[33]);
  Landscape small(60, 33);
  Search few(small.space, "local", 0);
  EXPECT_EQ(small.run(few).size(), 30U) << "six steps at least";
}

TEST(Local, draws_one_of_four_steps_where_nothing_is_known) {
  Landscape landscape(600, 33);
  Search search(landscape.space, "local", 0);
  const std::vector<std::size_t> order = landscape.run(search);
  std::set<std::size_t> known(order.begin(), order.begin() + 24);
  for (std::size_t made = 24; made < order.size(); known.insert(order[made++])) {
    if (made % 4 != 0) continue;
    const auto drawn = by_merit(landscape.space);
    const auto next = std::ranges::find_if(drawn, [&](std::size_t i) { return !known.contains(i); });
    EXPECT_EQ(order[made], *next) << made;
  }
}

TEST(Local, leaps_to_another_implementation_that_promises_more_than_the_steps_around) {
  Landscape landscape(60, 59);
  for (std::size_t i = 30; i < 60; ++i) landscape.space.candidates[i].implementation = "q";
  Neighbour known = landscape.known(128, 59);
  known.winner = landscape.space.candidates[3];
  landscape.space.known = {known};
  Search search(landscape.space, "local", 0);
  const std::vector<std::size_t> order = landscape.run(search);
  EXPECT_EQ(order.at(0), 3U);
  EXPECT_GE(order.at(1), 30U);
}

TEST(Surrogate, expects_of_a_launch_that_leaves_as_much_idle_as_a_slow_one_that_it_is_slow) {
  Landscape landscape(5);
  std::vector<std::optional<Trial>> told(5);
  told[0] = landscape.trial(0, 8);
  landscape.times[4] = 2000;
  told[4] = landscape.trial(4, 8);
  const auto promise_of = [&](double idle) {
    landscape.space.idle = [&, idle](const Config& config, const Problem&) {
      return config == landscape.space.candidates[4] ? 1.2 : config == landscape.space.candidates[2] ? idle : 0.0;
    };
    return Surrogate(landscape.space).promise({2}, told).front();
  };
  EXPECT_LT(promise_of(0) + 0.05, promise_of(1.2));
}

TEST(Local, leaves_a_valley_whose_every_step_is_known) {
  Landscape landscape(60, 33);
  landscape.space.known = {landscape.known(128, 1)};
  // Steps stay within an implementation.
  for (std::size_t i = 3; i < 60; ++i) landscape.space.candidates[i].implementation = "q";
  Search search(landscape.space, "local", 0);
  const std::vector<std::size_t> order = landscape.run(search);
  ASSERT_EQ(order.size(), 8U);
  EXPECT_EQ(order.front(), 1U);
  EXPECT_GE(std::count_if(order.begin(), order.end(), [](std::size_t i) { return i >= 3; }), 5);
}

TEST(Local, says_how_many_it_left_out_and_why) {
  Landscape landscape(60, 33);
  landscape.space.known = {landscape.known(128, 33)};
  Search search(landscape.space, "local", 0);
  const auto tried = static_cast<int>(landscape.run(search).size());
  const Selection choice = search.winners().front().choice;
  EXPECT_EQ(choice.pruned.at("off the walk from the winners of neighbouring shapes"), 60 - tried);
}

TEST(Model, measures_the_share_that_neighbouring_shapes_rank_first) {
  Landscape landscape(60, 20);
  landscape.space.known = {landscape.known(128, 22), landscape.known(32, 18)};
  Search search(landscape.space, "model", 0);
  const std::vector<std::size_t> order = landscape.run(search);
  EXPECT_LE(order.size(), 9U);
  for (const std::size_t i : order) EXPECT_NEAR(static_cast<double>(i), 20, 5);
  EXPECT_EQ(search.winners().front().trial.config, landscape.space.candidates[20]);
  EXPECT_EQ(search.winners().front().choice.pruned.at("ranked too low by what is known of neighbouring shapes"),
            60 - static_cast<int>(order.size()));
}

TEST(Model, measures_a_larger_share_where_nothing_is_known) {
  Landscape landscape(60, 20);
  Search search(landscape.space, "model", 0);
  EXPECT_EQ(landscape.run(search).size(), 15U);
  EXPECT_EQ(search.winners().front().choice.pruned.count("ranked too low by the trials of the problem itself"), 1U);
}

TEST(Model, ranks_others_where_what_it_ranked_is_pruned_after_compiling) {
  Landscape landscape(60, 20);
  landscape.space.known = {landscape.known(128, 22), landscape.known(32, 18)};
  Search search(landscape.space, "model", 0);
  Trial pruned;
  pruned.status = TrialStatus::pruned;
  pruned.reason = "compiled: fills 1 of 4 SMs";
  const std::size_t first = search.ask(1).front().candidate;
  pruned.config = landscape.space.candidates[first];
  search.tell(first, pruned);
  EXPECT_EQ(landscape.run(search).size(), 8U) << "14.8 % of 60";
}

TEST(Walks, that_a_bound_ends_tell_what_was_not_reached_apart_from_what_they_would_leave_out) {
  for (const char* name : {"local", "model"}) {
    Landscape landscape(60, 33);
    landscape.space.known = {landscape.known(128, 32), landscape.known(32, 30)};
    Search search(landscape.space, name, 4);
    EXPECT_EQ(landscape.run(search).size(), 4U) << name;
    const Selection choice = search.winners().front().choice;
    // 14.8 % of 60 are 8.
    EXPECT_EQ(choice.pruned.at("not reached within the bound of trials or time"), 4) << name;
    EXPECT_EQ(choice.pruned.at(make_strategy(name, landscape.space)->why_left_out()), 60 - 8) << name;
  }
}

TEST(Walks, do_not_count_what_was_pruned_as_tried) {
  for (const char* name : {"local", "model"}) {
    Landscape landscape(60, 33);
    landscape.space.known = {landscape.known(128, 32), landscape.known(32, 30)};
    Search search(landscape.space, name, 0);
    Trial pruned;
    pruned.status = TrialStatus::pruned;
    pruned.reason = "model: fills 1 of 4 SMs";
    for (std::size_t i = 0; i < 10; ++i) {
      pruned.config = landscape.space.candidates[i];
      search.recall(i, pruned);
    }
    const std::vector<std::size_t> order = landscape.run(search);
    EXPECT_GE(order.size(), 6U) << name;
    for (const std::size_t i : order) EXPECT_GE(i, 10U) << name;
    const Winner best = search.winners().front();
    EXPECT_EQ(best.configs_failed, 0) << name;
    EXPECT_EQ(best.choice.pruned.at("pruned before compiling: too slow at best, by grid, blocks and tiles"), 10);
    int sum = static_cast<int>(order.size());
    for (const auto& [reason, count] : best.choice.pruned) sum += count;
    EXPECT_EQ(sum, best.configs_considered) << name;
  }
}

}  // namespace
}  // namespace tilewright::testing::walks_test
