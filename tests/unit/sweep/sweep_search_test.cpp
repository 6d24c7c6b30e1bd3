// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "cache/model/not_reached.hpp"
#include "tests/unit/sweep/sweep_fixture.hpp"

namespace tilewright::testing {
namespace {

class SweepSearch : public SweepFixture {
 protected:
  SweepSearch() { request.strategy = "race"; }

  /// The number of the first problem's trials by the length of their look.
  [[nodiscard]] std::map<LookLength, int> looks(const Device& device) const {
    std::map<LookLength, int> counts;
    for (const Trial& trial : trials(device)) {
      if (trial.status == TrialStatus::ok) ++counts[trial.look];
    }
    return counts;
  }
  /// Sweeps the base, `special` and `dynamic`, which win, and asks for all configs again.
  void crown(Device& device) {
    request.only[request.problems.front().key()] = {request.definition->base.text(), special, dynamic};
    (void)sweep(device);
    EXPECT_EQ(winners(device).at(0).trial.config.text(), special);
    EXPECT_EQ(winners(device).at(1).trial.config.text(), dynamic);
    request.only = {};
    request.again = true;
  }

  const std::string special = "plain{fault=0,speed=3,static_dims=1}";
  const std::string dynamic = "plain{fault=0,speed=5,static_dims=0}";
};

TEST_F(SweepSearch, races_to_the_same_winner_with_fewer_rounds) {
  FakeDevice device;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.measured, kConfigs);
  const std::vector<Winner> rows = winners(device);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].trial.config.text(), kBest);
  EXPECT_EQ(rows[0].strategy, "race");
  EXPECT_EQ(rows[0].trial.look, LookLength::final);
  EXPECT_EQ(rows[2].trial.config, request.definition->base);
  // The base gets a whole look, the two of speed 3 the final, and the others a round or two.
  const auto counts = looks(device);
  EXPECT_EQ(counts.at(LookLength::final), 2);
  EXPECT_EQ(counts.at(LookLength::whole), 1);
  EXPECT_EQ(counts.at(LookLength::brief), 3);
}

TEST_F(SweepSearch, stores_how_the_winner_was_chosen) {
  FakeDevice device;
  (void)sweep(device);
  const Winner best = winners(device).at(0);
  EXPECT_EQ(best.choice.finalists, 2);
  EXPECT_EQ(best.configs_considered, static_cast<int>(kConfigs));
  ASSERT_EQ(best.choice.tied.size(), 1U);
  EXPECT_EQ(best.choice.tied[0].text(), "plain{fault=0,speed=3,static_dims=1}");
  EXPECT_EQ(best.choice.tie_broken_by, "");
  EXPECT_LE(best.choice.margin_low, 1);
  EXPECT_GE(best.choice.margin_high, 1);
  EXPECT_GT(best.choice.at, 0);
  int dropped = 0;
  for (const auto& [reason, count] : best.choice.pruned) {
    EXPECT_NE(reason.find("brief look"), std::string::npos) << reason;
    dropped += count;
  }
  EXPECT_EQ(dropped, 3);
}

TEST_F(SweepSearch, times_one_that_leads_alone_once_more_while_nothing_compiles) {
  FakeDevice device;
  request.strategy = "exhaustive";
  request.only[request.problems.front().key()] = {kBest, request.definition->base.text()};
  (void)sweep(device);
  const Winner best = winners(device).at(0);
  EXPECT_EQ(best.trial.config.text(), kBest);
  EXPECT_EQ(best.trial.look, LookLength::final);
  EXPECT_EQ(best.choice.finalists, 1);
  EXPECT_EQ(looks(device).at(LookLength::whole), 1) << "the base, which does not lead";
  FakeDevice again;
  (void)sweep(again);
  EXPECT_EQ(again.timed, 0);
}

TEST_F(SweepSearch, races_once) {
  FakeDevice device;
  (void)sweep(device);
  const std::vector<Winner> before = winners(device);
  FakeDevice second;
  const SweepSummary summary = sweep(second);
  EXPECT_EQ(summary.measured, 0U);
  EXPECT_EQ(second.timed, 0);
  EXPECT_EQ(winners(device).at(0).trial.id, before.at(0).trial.id);
  EXPECT_EQ(winners(device).at(0).choice, before.at(0).choice);
}

TEST_F(SweepSearch, measures_what_a_race_dropped_when_everything_is_asked_for) {
  FakeDevice device;
  (void)sweep(device);
  request.strategy = "exhaustive";
  (void)sweep(device);
  EXPECT_EQ(looks(device).count(LookLength::brief), 0U);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

TEST_F(SweepSearch, finds_the_winner_among_noisy_rounds) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    FakeDevice device({.noise = 0.02, .seed = seed});
    request.again = true;
    (void)sweep(device);
    EXPECT_EQ(winners(device).at(0).trial.config.value_or("speed", 0), 3) << seed;
  }
}

TEST_F(SweepSearch, tries_no_more_configs_than_allowed_and_says_so) {
  FakeDevice device;
  request.strategy = "random";
  request.max_trials = 4;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.measured, 4U);
  const Winner best = winners(device).at(0);
  EXPECT_EQ(best.choice.pruned.at("not reached within the bound of trials or time"), static_cast<int>(kConfigs) - 4);
  EXPECT_EQ(configs_not_reached(best), static_cast<int>(kConfigs) - 4);
  EXPECT_EQ(summary.cut_short, 1U);
  request.max_trials = 0;
  EXPECT_EQ(sweep(device).cut_short, 0U) << "the rest was tried";
}

TEST_F(SweepSearch, keeps_the_winners_of_all_roles_until_it_has_timed_them) {
  FakeDevice device;
  crown(device);
  request.max_trials = 2;
  EXPECT_EQ(sweep(device).cut_short, 1U);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), special);
  EXPECT_EQ(winners(device).at(1).trial.config.text(), dynamic);
  // A sweep of named configs has no other to keep.
  request.only[request.problems.front().key()] = {request.definition->base.text()};
  EXPECT_EQ(sweep(device).cut_short, 0U);
  EXPECT_EQ(winners(device).at(0).trial.config, request.definition->base);
}

TEST_F(SweepSearch, replaces_a_dynamic_winner_that_the_strategy_left_out_by_itself) {
  FakeDevice device;
  crown(device);
  const std::int64_t before = winners(device).at(0).trial.id;
  request.strategy = "local";
  listener.trials.clear();
  EXPECT_EQ(sweep(device).cut_short, 0U);
  ASSERT_TRUE(std::ranges::none_of(listener.trials, [&](const Trial& each) { return each.config.text() == dynamic; }));
  EXPECT_NE(winners(device).at(0).trial.id, before);
  EXPECT_NE(winners(device).at(1).trial.config.text(), dynamic);
}

TEST_F(SweepSearch, gives_every_problem_a_winner_beyond_the_base_however_small_the_budget) {
  FakeDevice device;
  use_shapes("n=100,200,300");
  request.budget = std::chrono::nanoseconds(1);
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.problems, 3U);
  EXPECT_EQ(summary.without_winner, 0U);
  EXPECT_LT(summary.measured, 3 * kConfigs);
  const Config base = Config::parse("plain{fault=0,speed=9,static_dims=0}");
  for (std::size_t problem = 0; problem < 3; ++problem) EXPECT_NE(winners(device, problem).at(0).trial.config, base);
}

TEST_F(SweepSearch, ends_a_problem_beyond_the_budget_although_nothing_succeeds) {
  FakeDevice device;
  request.budget = std::chrono::nanoseconds(1);
  int loads = 0;
  device.before_load = [&] {
    // The first is the reference.
    if (++loads > 1) throw DeviceError("loading failed");
  };
  EXPECT_EQ(sweep(device).without_winner, 1U);
  EXPECT_LT(trials(device).size(), kConfigs) << "the base and about four others";
}

TEST_F(SweepSearch, walks_from_the_winner_of_the_problem_before) {
  FakeDevice device;
  (void)sweep(device);
  use_shapes("n=128");
  request.strategy = "local";
  const SweepSummary summary = sweep(device);
  EXPECT_LE(summary.measured, 6U);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

TEST_F(SweepSearch, prefers_among_tied_configs_the_one_that_wins_nearby) {
  FakeDevice device;
  (void)sweep(device);
  // As if the other one of the two had won there; both take the same time.
  Winner other = winners(device).at(0);
  for (const Trial& trial : trials(device)) {
    if (trial.config.text() == "plain{fault=0,speed=3,static_dims=1}") other.trial = trial;
  }
  open().put_winners(key(device), request.mode, {other});
  use_shapes("n=128");
  (void)sweep(device);
  const Winner best = winners(device).at(0);
  EXPECT_EQ(best.trial.config.text(), "plain{fault=0,speed=3,static_dims=1}");
  EXPECT_EQ(best.choice.tie_broken_by, "twice[dtype=f32]{n=100}");
}

TEST_F(SweepSearch, ends_at_an_interrupt_during_the_final_and_holds_it_the_next_time) {
  FakeDevice device;
  bool stop = false;
  device.before_timing = [&] { stop = device.timed == 7; };  // of 6 right configs only finalists are left
  EXPECT_TRUE(sweep(device, [&] { return stop; }).interrupted);
  EXPECT_TRUE(winners(device).empty());
  stop = false;
  device.before_timing = nullptr;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.measured, 0U);
  EXPECT_EQ(winners(device).at(0).trial.look, LookLength::final);
}

}  // namespace
}  // namespace tilewright::testing
