// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tuner/measure/measure.hpp"
#include "tuner/search/winners.hpp"

namespace tilewright::winners_test {
namespace {

constexpr double kHalfWidth = 0.5;

Trial ok(const std::string& config, double median_ns, double half_width_ns = kHalfWidth) {
  Trial trial;
  trial.config = Config::parse(config);
  Timing timing;
  timing.median_ns = median_ns;
  timing.low_ns = median_ns - half_width_ns;
  timing.high_ns = median_ns + half_width_ns;
  trial.timing = timing;
  return trial;
}

Trial failed(const std::string& config, TrialStatus status) {
  Trial trial;
  trial.config = Config::parse(config);
  trial.status = status;
  return trial;
}

const Config kBase = Config::parse("online{vec=1,static_dims=0}");

const Winner* find(const std::vector<Winner>& winners, WinnerRole role) {
  for (const Winner& winner : winners) {
    if (winner.role == role) return &winner;
  }
  return nullptr;
}

TEST(ChooseWinners, gives_the_three_roles_their_own_trials) {
  const auto winners = choose_winners({ok("onchip{vec=4,static_dims=0}", 20), ok("onchip{vec=4,static_dims=1}", 10),
                                       ok("online{vec=1,static_dims=0}", 40)},
                                      kBase, "exhaustive");
  ASSERT_EQ(winners.size(), 3U);
  EXPECT_EQ(find(winners, WinnerRole::best)->trial.config.text(), "onchip{vec=4,static_dims=1}");
  EXPECT_EQ(find(winners, WinnerRole::dynamic)->trial.config.text(), "onchip{vec=4,static_dims=0}");
  EXPECT_EQ(find(winners, WinnerRole::base)->trial.config, kBase);
  for (const Winner& winner : winners) {
    EXPECT_EQ(winner.base_ns, 40.0);
    EXPECT_EQ(winner.configs_considered, 3);
    EXPECT_EQ(winner.configs_failed, 0);
    EXPECT_EQ(winner.strategy, "exhaustive");
  }
}

TEST(ChooseWinners, takes_the_smallest_median_when_no_interval_overlaps) {
  const auto winners = choose_winners({ok("a{static_dims=0}", 12), ok("b{static_dims=0}", 10)}, kBase, "s");
  EXPECT_EQ(find(winners, WinnerRole::best)->trial.config.text(), "b{static_dims=0}");
}

TEST(ChooseWinners, breaks_a_tie_by_the_definitions_order_and_says_how_far_the_runner_up_is) {
  // 10 ± 0.5 and 10.08 ± 0.5 overlap and are within 1 %: the first listed wins although the second is faster.
  const auto winners = choose_winners({ok("a{}", 10.08), ok("b{}", 10.0), ok("c{}", 30.0)}, kBase, "s");
  const Winner* best = find(winners, WinnerRole::best);
  EXPECT_EQ(best->trial.config.text(), "a{}");
  ASSERT_TRUE(best->runner_up.has_value());
  EXPECT_EQ(best->runner_up->text(), "b{}");
  EXPECT_DOUBLE_EQ(*best->runner_up_ratio, 10.0 / 10.08);
}

TEST(ChooseWinners, takes_the_smaller_median_where_intervals_are_too_wide_to_tell) {
  const auto winners = choose_winners({ok("a{}", 10.8, 5), ok("b{}", 10.0, 5)}, kBase, "s");
  EXPECT_EQ(find(winners, WinnerRole::best)->trial.config.text(), "b{}");
}

TEST(ChooseWinners, ties_only_with_the_fastest_not_along_a_chain_of_overlaps) {
  // c overlaps b and b overlaps a, but c does not overlap a, the fastest.
  const auto winners =
      choose_winners({ok("c{}", 10.08, 0.03), ok("b{}", 10.04, 0.03), ok("a{}", 10.0, 0.03)}, kBase, "s");
  EXPECT_EQ(find(winners, WinnerRole::best)->trial.config.text(), "b{}");
}

TEST(ChooseWinners, gives_the_same_answer_for_equal_medians_every_time) {
  const std::vector<Trial> trials{ok("a{}", 10, 0), ok("b{}", 10, 0), ok("c{}", 10, 0)};
  for (int repeat = 0; repeat < 3; ++repeat) {
    EXPECT_EQ(find(choose_winners(trials, kBase, "s"), WinnerRole::best)->trial.config.text(), "a{}");
  }
}

TEST(ChooseWinners, never_takes_a_trial_that_failed_however_quick_it_was) {
  Trial wrong = ok("fast{}", 1);
  wrong.status = TrialStatus::wrong_result;
  const auto winners = choose_winners(
      {wrong, failed("x{}", TrialStatus::compile_failed), failed("y{}", TrialStatus::crashed), ok("slow{}", 90)}, kBase,
      "s");
  const Winner* best = find(winners, WinnerRole::best);
  EXPECT_EQ(best->trial.config.text(), "slow{}");
  EXPECT_EQ(best->configs_considered, 4);
  EXPECT_EQ(best->configs_failed, 3);
  EXPECT_FALSE(best->runner_up.has_value());
  EXPECT_FALSE(best->runner_up_ratio.has_value());
}

TEST(ChooseWinners, has_no_base_row_and_no_base_time_when_the_base_failed) {
  const auto winners =
      choose_winners({ok("a{static_dims=1}", 5), failed(kBase.text(), TrialStatus::timed_out)}, kBase, "s");
  ASSERT_EQ(winners.size(), 1U);
  EXPECT_EQ(winners.front().role, WinnerRole::best);
  EXPECT_FALSE(winners.front().base_ns.has_value());
}

TEST(ChooseWinners, compares_the_runner_up_of_the_dynamic_role_with_dynamic_configs_only) {
  const auto winners =
      choose_winners({ok("a{static_dims=1}", 5), ok("b{static_dims=0}", 10), ok("c{static_dims=0}", 20)}, kBase, "s");
  const Winner* dynamic = find(winners, WinnerRole::dynamic);
  EXPECT_EQ(dynamic->runner_up->text(), "c{static_dims=0}");
  EXPECT_DOUBLE_EQ(*dynamic->runner_up_ratio, 2.0);
}

TEST(ChooseWinners, compares_the_base_with_the_fastest_of_the_others) {
  // The base is the fastest: its runner-up is the next config, not itself.
  const auto winners = choose_winners({ok("online{vec=1,static_dims=0}", 10), ok("b{static_dims=0}", 20)}, kBase, "s");
  const Winner* base = find(winners, WinnerRole::base);
  ASSERT_NE(base, nullptr);
  ASSERT_TRUE(base->runner_up.has_value());
  EXPECT_EQ(base->runner_up->text(), "b{static_dims=0}");
  EXPECT_EQ(base->runner_up_ratio, 2.0);
}

TEST(ChooseWinners, of_failures_alone_is_empty) {
  EXPECT_TRUE(choose_winners({failed("a{}", TrialStatus::wrong_result)}, kBase, "s").empty());
  EXPECT_TRUE(choose_winners({}, kBase, "s").empty());
}

TEST(ChooseWinners, skips_an_ok_trial_without_a_timing) {
  Trial untimed;
  untimed.config = Config::parse("a{}");
  EXPECT_EQ(find(choose_winners({untimed, ok("b{}", 3)}, kBase, "s"), WinnerRole::best)->trial.config.text(), "b{}");
}

Trial final_of(const std::string& config, std::vector<double> rounds, std::int64_t sweep = 1) {
  Trial trial;
  trial.config = Config::parse(config);
  trial.timing = summarise(std::move(rounds));
  trial.look = LookLength::final;
  trial.sweep = sweep;
  return trial;
}

TEST(ChooseWinners, counts_finalists_where_there_was_a_final_and_none_elsewhere) {
  const auto looked = choose_winners({ok("a{}", 10), ok("b{}", 20)}, kBase, "s");
  EXPECT_EQ(find(looked, WinnerRole::best)->choice.finalists, 0);
  const auto met = choose_winners({final_of("a{}", {10, 10, 10}), final_of("b{}", {20, 20, 20})}, kBase, "s");
  EXPECT_EQ(find(met, WinnerRole::best)->choice.finalists, 2);
}

/// Rounds whose drift is far larger than the difference between configs.
std::vector<double> drifting(double share) {
  std::vector<double> rounds;
  for (int i = 0; i < 12; ++i) rounds.push_back(share * (1000 + 10 * i));
  return rounds;
}

TEST(ChooseWinners, tells_configs_of_a_final_apart_by_their_rounds_pair_by_pair) {
  // Medians 0.4 % apart and far wider intervals: only paired rounds show which is faster.
  const auto winners = choose_winners({final_of("a{}", drifting(1.004)), final_of("b{}", drifting(1))}, kBase, "s");
  const Winner* best = find(winners, WinnerRole::best);
  EXPECT_EQ(best->trial.config.text(), "b{}");
  EXPECT_TRUE(best->choice.tied.empty());
  EXPECT_EQ(best->choice.finalists, 2);
  EXPECT_NEAR(best->choice.margin_low, 1.004, 1e-6);
  EXPECT_NEAR(best->choice.margin_high, 1.004, 1e-6);
}

TEST(ChooseWinners, pairs_no_rounds_of_a_finalist_that_was_timed_by_itself) {
  const auto margin = [](std::int64_t began_us) {
    Trial a = final_of("a{}", drifting(1.004));
    Trial b = final_of("b{}", drifting(1));
    a.phases.emplace().began_us = 1000;
    b.phases.emplace().began_us = began_us;
    return find(choose_winners({a, b}, kBase, "s"), WinnerRole::best)->choice.margin_high;
  };
  EXPECT_GT(margin(1000), 0) << "in one turn";
  EXPECT_EQ(margin(2000), 0);
}

TEST(ChooseWinners, compares_those_who_met_in_the_newest_final_alone) {
  const auto winners = choose_winners({final_of("old{}", drifting(0.9), 1), final_of("a{}", drifting(1), 2),
                                       final_of("b{}", drifting(1.1), 2), ok("whole{}", 500)},
                                      kBase, "s");
  EXPECT_EQ(find(winners, WinnerRole::best)->trial.config.text(), "a{}");
  EXPECT_EQ(find(winners, WinnerRole::best)->runner_up->text(), "b{}");
}

TEST(ChooseWinners, names_a_runner_up_that_did_not_come_to_the_final) {
  const auto winners = choose_winners(
      {final_of("a{}", drifting(1)), final_of("b{}", drifting(2)), ok("near{}", 1200), ok("earlier{}", 900)}, kBase,
      "s");
  EXPECT_EQ(winners.front().runner_up->text(), "near{}");
}

TEST(ChooseWinners, takes_of_the_tied_what_serves_the_nearest_shape_that_any_serves) {
  Neighbour near;
  near.problem.spec.op = "op";
  near.problem.dims = {{"n", 8}};
  near.winner = Config::parse("elsewhere{}");
  Neighbour far = near;
  far.problem.dims = {{"n", 64}};
  far.winner = Config::parse("b{}");
  const std::vector<Trial> trials{ok("a{}", 10.0), ok("b{}", 10.02), ok("c{}", 30)};
  const Winner best = choose_winners(trials, kBase, "s", {near, far}).front();
  EXPECT_EQ(best.trial.config.text(), "b{}");
  EXPECT_EQ(best.choice.tie_broken_by, far.problem.key());
  ASSERT_EQ(best.choice.tied.size(), 1U);
  EXPECT_EQ(best.choice.tied[0].text(), "a{}");
  // A config that is no rival is not preferred, even if it serves a neighbour.
  far.winner = Config::parse("c{}");
  EXPECT_EQ(choose_winners(trials, kBase, "s", {far}).front().trial.config.text(), "a{}");
}

}  // namespace
}  // namespace tilewright::winners_test
