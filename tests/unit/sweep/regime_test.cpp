// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/regime.hpp"

#include <gtest/gtest.h>

#include "tests/unit/sweep/sweep_fixture.hpp"

namespace tilewright::testing {
namespace {

Trial trial(const std::string& config, double median) {
  Trial made;
  made.id = static_cast<std::int64_t>(median);
  made.config = Config::parse(config);
  made.timing.emplace().median_ns = median;
  return made;
}

Sustained load(const std::string& config, double median) {
  return {Config::parse(config), median, median - 1, median + 1, 1500, 690000, 4};
}

constexpr const char* kFast = "plain{speed=1,static_dims=1}";
constexpr const char* kCool = "plain{speed=2,static_dims=1}";
constexpr const char* kOpen = "plain{speed=3,static_dims=0}";

struct UnderLoad : ::testing::Test {
  UnderLoad() {
    winners.resize(3);
    const WinnerRole roles[] = {WinnerRole::best, WinnerRole::dynamic, WinnerRole::base};
    for (std::size_t i = 0; i < 3; ++i) {
      winners[i].role = roles[i];
      winners[i].trial = *trials[i == 0 ? 0 : 2];
    }
    winners[0].runner_up = trials[1]->config;
    winners[0].runner_up_ratio = 1.1;
    winners[0].choice.margin_low = 1.05;
    winners[0].choice.tied = {trials[1]->config};
  }
  std::vector<std::optional<Trial>> trials{trial(kFast, 100), trial(kCool, 110), trial(kOpen, 120)};
  std::vector<Winner> winners;
};

TEST_F(UnderLoad, the_fastest_there_takes_the_place_of_the_bursts_winner) {
  choose_under_load(winners, {{0, load(kFast, 150)}, {1, load(kCool, 140)}, {2, load(kOpen, 130)}}, trials);
  EXPECT_EQ(winners[0].trial.config.text(), kOpen);
  EXPECT_EQ(winners[0].trial.timing->median_ns, 120) << "its time stays that of the burst";
  EXPECT_EQ(winners[0].runner_up->text(), kCool);
  EXPECT_DOUBLE_EQ(*winners[0].runner_up_ratio, 140.0 / 130);
  EXPECT_EQ(winners[0].choice.regime, Regime::sustained);
  ASSERT_EQ(winners[0].choice.sustained.size(), 3U);
  EXPECT_EQ(winners[0].choice.sustained[0], load(kOpen, 130));
  EXPECT_EQ(winners[0].choice.margin_low, 0);
  EXPECT_TRUE(winners[0].choice.tied.empty());
}

TEST_F(UnderLoad, who_cannot_be_told_from_the_bursts_winner_does_not_replace_it) {
  choose_under_load(winners, {{0, load(kFast, 141)}, {1, load(kCool, 140)}}, trials);
  EXPECT_EQ(winners[0].trial.config.text(), kFast);
  EXPECT_EQ(winners[0].runner_up->text(), kCool);
}

TEST_F(UnderLoad, dynamic_is_one_without_specialised_dims_and_base_stays) {
  choose_under_load(winners, {{0, load(kFast, 100)}, {2, load(kOpen, 130)}}, trials);
  EXPECT_EQ(winners[1].trial.config.text(), kOpen);
  EXPECT_EQ(winners[1].choice.sustained.size(), 1U);
  EXPECT_EQ(winners[2].trial.config.text(), kOpen);
  EXPECT_TRUE(winners[2].choice.sustained.empty());
}

TEST_F(UnderLoad, who_has_failed_since_is_out) {
  trials[1]->status = TrialStatus::wrong_result;
  trials[1]->timing.reset();
  choose_under_load(winners, {{0, load(kFast, 150)}, {1, load(kCool, 100)}}, trials);
  EXPECT_EQ(winners[0].trial.config.text(), kFast);
  EXPECT_FALSE(winners[0].runner_up.has_value());
}

using SustainedSweep = SweepFixture;

TEST_F(SustainedSweep, stores_both_and_serves_what_was_asked_for) {
  FakeDevice device{{.gpu = true}};
  device.fake_compiler.crashing_fails = true;
  request.regime = Regime::sustained;
  (void)sweep(device);
  const Winner loaded = winners(device).at(0);
  EXPECT_EQ(loaded.choice.regime, Regime::sustained);
  ASSERT_FALSE(loaded.choice.sustained.empty());
  EXPECT_EQ(loaded.choice.sustained.front().config.text(), kBest);
  EXPECT_EQ(loaded.choice.sustained.front().sm_clock_mhz, 1980);
  EXPECT_EQ(sweep(device).measured, 0U) << "it is done";

  request.regime = Regime::burst;
  EXPECT_EQ(sweep(device).measured, 0U);
  const Winner burst = winners(device).at(0);
  EXPECT_EQ(burst.choice.regime, Regime::burst);
  EXPECT_EQ(burst.choice.sustained, loaded.choice.sustained);
}

}  // namespace
}  // namespace tilewright::testing
