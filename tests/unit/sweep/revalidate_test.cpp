// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/revalidate.hpp"

#include <algorithm>

#include "cache/base/version.hpp"
#include "tests/unit/sweep/sweep_fixture.hpp"
#include "tuner/sweep/local_config_runner.hpp"

namespace tilewright::testing {
namespace {

StaleWinner stale(double median_ns) {
  StaleWinner before;
  before.config = Config::parse("a{x=1}");
  before.median_ns = median_ns;
  return before;
}

Winner winner(const std::string& config, double median_ns) {
  Winner now;
  now.trial.config = Config::parse(config);
  now.trial.timing.emplace().median_ns = median_ns;
  return now;
}

TEST(Judge, keeps_a_winner_that_is_as_fast_as_it_was) {
  const Winner same = winner("a{x=1}", 1020);
  const Winner faster = winner("a{x=1}", 700);
  EXPECT_EQ(judge(stale(1000), &same), Revalidated::kept);
  EXPECT_EQ(judge(stale(1000), &faster), Revalidated::kept);
}

TEST(Judge, promotes_another_leader_that_is_as_fast_as_the_winner_was) {
  const Winner other = winner("a{x=2}", 990);
  EXPECT_EQ(judge(stale(1000), &other), Revalidated::promoted);
}

TEST(Judge, asks_for_a_search_where_all_leaders_are_slower_or_wrong) {
  const Winner slower = winner("a{x=1}", 1031);
  EXPECT_EQ(judge(stale(1000), &slower), Revalidated::resweep);
  EXPECT_EQ(judge(stale(1000), nullptr), Revalidated::resweep);
}

TEST(Judge, says_its_verdicts_in_words) {
  EXPECT_EQ(name(Revalidated::kept), "kept");
  EXPECT_EQ(name(Revalidated::promoted), "promoted");
  EXPECT_EQ(name(Revalidated::resweep), "re-swept");
  EXPECT_EQ(name(Revalidated::left), "left");
}

/// A fictional GPU whose driver may be newer than its winners.
class UpdatedDevice : public FakeDevice {
 public:
  explicit UpdatedDevice(int driver, FakeOptions options = {}) : FakeDevice(std::move(options)), driver_(driver) {}
  [[nodiscard]] int driver_version() const noexcept override { return driver_; }

 private:
  int driver_;
};

class Revalidate : public SweepFixture {
 protected:
  Revalidate() {
    request.strategy = "race";
    compiler.crashing_fails = true;
    request.compiler = &compiler;
  }

  [[nodiscard]] std::vector<StaleWinner> stale_on(const Device& device) const {
    return stale_winners(open(), *request.definition, device.facts().fingerprint(), request.mode,
                         {device.driver_version(), compiler.version(), version()});
  }

  /// Revalidates the stale winners.
  SweepSummary revalidate(const std::vector<Device*>& devices, std::vector<StaleWinner>& stale,
                          const std::function<bool()>& interrupted = {}) {
    std::vector<StaleWinner*> each;
    for (StaleWinner& one : stale) each.push_back(&one);
    recheck(request, each);
    std::vector<std::unique_ptr<LocalTrialDevice>> owned;
    std::vector<TrialDevice*> trial_devices;
    for (Device* device : devices) {
      trial_devices.push_back(owned.emplace_back(std::make_unique<LocalTrialDevice>(*device)).get());
    }
    Store store = open();
    return run_sweep(request, catalogue, trial_devices, store, listener, interrupted);
  }

  FakeCompiler compiler;
};

TEST_F(Revalidate, after_a_new_driver_times_those_that_led_and_keeps_what_the_search_found) {
  UpdatedDevice before(12080);
  (void)sweep(before);
  const Winner searched = winners(before).at(0);
  UpdatedDevice after(13000);
  std::vector<StaleWinner> stale = stale_on(after);
  ASSERT_EQ(stale.size(), 1U);
  EXPECT_EQ(stale[0].why, "driver 12080 is now 13000");
  const int compiles = compiler.compiles;
  const SweepSummary summary = revalidate({&after}, stale);
  EXPECT_EQ(compiler.compiles, compiles) << "the driver makes no binaries";
  EXPECT_EQ(summary.measured, stale[0].leaders.size());
  const Winner now = winners(after).at(0);
  EXPECT_EQ(verdict(stale[0], &now), Revalidated::kept);
  EXPECT_EQ(now.trial.versions.driver, 13000);
  EXPECT_EQ(now.configs_considered, static_cast<int>(kConfigs));
  EXPECT_EQ(now.configs_failed, searched.configs_failed);
  EXPECT_EQ(now.choice.pruned, searched.choice.pruned);
  EXPECT_EQ(now.choice.at, searched.choice.at);
  ASSERT_TRUE(now.choice.recheck.has_value());
  EXPECT_EQ(now.choice.recheck->leaders, static_cast<int>(stale[0].leaders.size()));
  EXPECT_EQ(now.choice.recheck->why, "driver 12080 is now 13000");
  EXPECT_TRUE(stale_on(after).empty());
}

TEST_F(Revalidate, finds_nothing_stale_after_a_new_tilewright_alone) {
  FakeDevice device;
  (void)sweep(device);
  EXPECT_TRUE(
      stale_winners(open(), *request.definition, device.facts().fingerprint(), request.mode, {0, "fake 1.0", "9.0.0"})
          .empty());
}

TEST_F(Revalidate, after_a_new_compiler_compiles_those_that_led_alone) {
  FakeDevice device;
  (void)sweep(device);
  compiler.version_text = "fake 2.0";
  std::vector<StaleWinner> stale = stale_on(device);
  ASSERT_EQ(stale.size(), 1U);
  EXPECT_EQ(stale[0].why, "fake 1.0 is now fake 2.0");
  EXPECT_EQ(revalidate({&device}, stale).compiled, stale[0].leaders.size() + 1) << "and the reference";
  EXPECT_FALSE(stale[0].searched);
  EXPECT_TRUE(stale_on(device).empty());
}

TEST_F(Revalidate, searches_all_configs_where_those_that_led_are_slower_than_the_winner_was) {
  FakeDevice device;
  (void)sweep(device);
  compiler.version_text = "fake 2.0";
  std::vector<StaleWinner> stale = stale_on(device);
  stale.at(0).median_ns /= 2;
  EXPECT_EQ(revalidate({&device}, stale).problems, 1U);
  EXPECT_TRUE(stale[0].searched);
  const Winner now = winners(device).at(0);
  EXPECT_EQ(verdict(stale[0], &now), Revalidated::resweep);
  EXPECT_EQ(now.configs_considered, static_cast<int>(kConfigs));
  EXPECT_FALSE(now.choice.recheck.has_value());
}

TEST_F(Revalidate, goes_on_with_a_search_that_was_cut_short) {
  FakeDevice device;
  (void)sweep(device);
  compiler.version_text = "fake 2.0";
  std::vector<StaleWinner> stale = stale_on(device);
  stale.at(0).median_ns /= 2;
  const std::size_t enough = listener.trials.size() + stale[0].leaders.size() + 2;
  EXPECT_TRUE(revalidate({&device}, stale, [&] { return listener.trials.size() >= enough; }).interrupted);
  EXPECT_TRUE(stale[0].searched);
  std::vector<StaleWinner> left = stale_on(device);
  ASSERT_EQ(left.size(), 1U) << "its search is not forgotten";
  EXPECT_EQ(verdict(stale[0], nullptr), Revalidated::left);
  left[0].median_ns /= 2;
  const SweepSummary summary = revalidate({&device}, left);
  EXPECT_TRUE(left[0].searched);
  EXPECT_LT(summary.measured, kConfigs) << "what was measured is known";
  EXPECT_TRUE(stale_on(device).empty());
}

TEST_F(Revalidate, times_on_each_model_those_that_led_there) {
  UpdatedDevice first(1, {.index = 0, .gpu = true});
  UpdatedDevice other(1, {.index = 1, .model = "Another GPU", .gpu = true});
  for (FakeDevice* device : {&first, &other}) (void)sweep(*device);
  UpdatedDevice first_now(2, {.index = 0, .gpu = true});
  UpdatedDevice other_now(2, {.index = 1, .model = "Another GPU", .gpu = true});
  std::vector<StaleWinner> stale = stale_on(first_now);
  for (StaleWinner& each : stale_on(other_now)) stale.push_back(std::move(each));
  ASSERT_EQ(stale.size(), 2U);
  stale[1].leaders = {request.definition->base.text()};
  stale[1].median_ns *= 10;
  (void)revalidate({&first_now, &other_now}, stale);
  const auto timed_now = [&](const Device& device) {
    const std::vector<Trial> made = trials(device);
    return std::count_if(made.begin(), made.end(), [](const Trial& trial) { return trial.versions.driver == 2; });
  };
  EXPECT_EQ(timed_now(first_now), static_cast<std::ptrdiff_t>(stale[0].leaders.size()));
  EXPECT_EQ(timed_now(other_now), 1);
}

TEST_F(Revalidate, keeps_the_regime_in_which_a_winner_was_chosen) {
  FakeDevice device;
  request.only[request.problems.front().key()] = {kBest, request.definition->base.text()};
  request.regime = Regime::sustained;
  (void)sweep(device);
  ASSERT_EQ(winners(device).at(0).choice.regime, Regime::sustained);
  compiler.version_text = "fake 2.0";
  std::vector<StaleWinner> stale = stale_on(device);
  request.regime = Regime::burst;
  request.only.clear();
  (void)revalidate({&device}, stale);
  const Winner now = winners(device).at(0);
  EXPECT_EQ(now.choice.regime, Regime::sustained);
  EXPECT_FALSE(now.choice.sustained.empty());
}

}  // namespace
}  // namespace tilewright::testing
