// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/forecast.hpp"

#include "cache/base/version.hpp"
#include "tests/unit/sweep/sweep_fixture.hpp"
#include "tuner/prune/verdict.hpp"

namespace tilewright::testing {
namespace {

class ForecastTest : public SweepFixture {
 protected:
  ForecastTest() {
    request.definition = &catalogue.find("narrow");
    const OpInterface& interface = request.definition->interface;
    request.problems = parse_shapes("n=200000,300000", parse_spec("narrow", interface), interface);
  }

  [[nodiscard]] Forecast forecast(Store& store, std::size_t problem, const std::string& strategy = "race",
                                  std::size_t max_trials = 0, const std::string& compiler = "fake 1.0") {
    SweepSetting setting;
    setting.facts = device.facts();
    setting.store = &store;
    setting.trial.versions = {0, compiler, version()};
    setting.strategy = strategy;
    setting.max_trials = max_trials;
    return forecast_problem(setting, *request.definition, request.problems.at(problem), compiler);
  }

  FakeDevice device{{.bus_bits = 6144, .gpu = true}};
};

TEST_F(ForecastTest, counts_what_exists_what_is_forbidden_what_is_pruned_and_what_is_left) {
  Store store = open();
  const Forecast told = forecast(store, 0);
  EXPECT_EQ(told.state, CacheState::unknown);
  EXPECT_EQ(told.total, 18U);
  EXPECT_EQ(told.legal, 9U);
  EXPECT_EQ(told.forbidden.at("constraint `(blocks == 1) == (speed == 1)`"), 9U);
  EXPECT_EQ(told.considered, 9U);
  EXPECT_EQ(told.pruned.at(std::string(kPrunedByModel)), 1U);
  EXPECT_EQ(told.to_try, 8U);
  EXPECT_EQ(told.builds.size(), 8U);
  EXPECT_EQ(store.counts().trials, 0) << "nothing is written";
}

TEST_F(ForecastTest, says_of_the_builds_what_the_sweep_then_makes) {
  Store store = open();
  const Forecast told = forecast(store, 0);
  request.problems.pop_back();
  (void)sweep(device);
  for (const std::string& key : told.builds) EXPECT_TRUE(store.build(key).has_value()) << key;
}

TEST_F(ForecastTest, knows_a_problem_that_was_swept_and_one_that_was_not) {
  const std::vector<Problem> both = request.problems;
  request.problems = {both[0]};
  (void)sweep(device);
  request.problems = both;
  Store store = open();
  const Forecast known = forecast(store, 0);
  EXPECT_EQ(known.state, CacheState::fresh);
  EXPECT_EQ(known.to_try, 0U);
  EXPECT_EQ(known.known, 8U);
  EXPECT_TRUE(known.builds.empty());
  EXPECT_EQ(forecast(store, 1).state, CacheState::unknown);
  EXPECT_EQ(forecast(store, 0, "race", 0, "fake 2.0").state, CacheState::stale);
}

TEST_F(ForecastTest, tells_a_problem_that_was_left_half_way) {
  request.max_trials = 3;
  request.strategy = "random";
  (void)sweep(device);
  Store store = open();
  const Forecast told = forecast(store, 0);
  EXPECT_EQ(told.state, CacheState::partial);
  EXPECT_EQ(told.known, 3U);
  EXPECT_EQ(told.to_try, 5U);
  EXPECT_EQ(forecast(store, 0, "race", 2).to_try, 2U);
}

TEST_F(ForecastTest, of_builds_is_empty_where_the_compiler_is_not_known) {
  Store store = open();
  EXPECT_TRUE(forecast(store, 0, "race", 0, "").builds.empty());
}

TEST_F(SweepFixture, has_no_pace_before_anything_was_tried) {
  const Pace pace = Paces(open().history(), "cpu").of("op");
  EXPECT_FALSE(pace.trial_seconds.has_value());
  EXPECT_FALSE(seconds_for(pace, 1, 1, 1).has_value());
  EXPECT_EQ(seconds_for(pace, 0, 0, 1), 0);
}

TEST(Pace, makes_of_binaries_and_configs_the_longer_of_the_two_times) {
  const Pace pace{.compile_seconds = 2.0, .trial_seconds = 0.5};
  EXPECT_EQ(seconds_for(pace, 10, 10, 2), 10);
  EXPECT_EQ(seconds_for(pace, 10, 100, 2), 50);
  EXPECT_EQ(seconds_for(pace, 0, 4, 2), 2);
  const Pace unknown{.compile_seconds = std::nullopt, .trial_seconds = 0.5};
  EXPECT_FALSE(seconds_for(unknown, 1, 4, 2).has_value());
  EXPECT_TRUE(seconds_for(unknown, 0, 4, 2).has_value());
}

TEST_F(SweepFixture, tells_its_pace_by_what_its_trials_took) {
  FakeDevice device;
  (void)sweep(device);
  const Paces paces(open().history(), "cpu");
  const Pace pace = paces.of("twice");
  ASSERT_TRUE(pace.trial_seconds.has_value());
  EXPECT_GT(*pace.trial_seconds, 0);
  EXPECT_LT(*pace.trial_seconds, 10);
  EXPECT_NEAR(pace.compile_seconds.value(), 0.001, 1e-6);
  EXPECT_FALSE(pace.of_other_ops);
  EXPECT_TRUE(paces.of("another").of_other_ops);
}

}  // namespace
}  // namespace tilewright::testing
