// SPDX-License-Identifier: Apache-2.0
// Configs that are pruned since they cannot win: stored with the reason, counted, and tried on request.
#include "tests/unit/sweep/sweep_fixture.hpp"
#include "tuner/prune/verdict.hpp"

namespace tilewright::testing {
namespace {

constexpr std::size_t kNarrowConfigs = 9;
constexpr const char* kNarrow = "plain{blocks=1,speed=1}";
const FakeOptions kGpu{.bus_bits = 6144, .gpu = true};

class SweepPrune : public SweepFixture {
 protected:
  SweepPrune() {
    request.definition = &catalogue.find("narrow");
    const OpInterface& interface = request.definition->interface;
    request.problems = parse_shapes("n=200000", parse_spec("narrow", interface), interface);
  }

  [[nodiscard]] Trial narrow(const Device& device) const {
    for (const Trial& trial : trials(device)) {
      if (trial.config.text() == kNarrow) return trial;
    }
    ADD_FAILURE() << "no trial of " << kNarrow;
    return {};
  }
};

TEST_F(SweepPrune, neither_compiles_nor_measures_what_cannot_win_and_stores_why) {
  FakeDevice device(kGpu);
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.pruned, 1U);
  EXPECT_EQ(summary.measured, kNarrowConfigs - 1);
  EXPECT_EQ(summary.failed, 0U);
  EXPECT_EQ(device.fake_compiler.compiles, static_cast<int>(kNarrowConfigs)) << "one less, and the reference";
  const Trial trial = narrow(device);
  EXPECT_EQ(trial.status, TrialStatus::pruned);
  EXPECT_EQ(trial.reason.find("model: fills 1 of 4 SMs; at best 2.8× slower than plain{blocks=64"), 0U) << trial.reason;
  EXPECT_TRUE(trial.build_key.empty());
  EXPECT_FALSE(trial.timing.has_value());
}

TEST_F(SweepPrune, counts_it_for_the_winner_and_it_is_no_failure) {
  FakeDevice device(kGpu);
  (void)sweep(device);
  const Winner best = winners(device).at(0);
  EXPECT_EQ(best.trial.config.text(), "plain{blocks=64,speed=2}");
  EXPECT_EQ(best.configs_considered, static_cast<int>(kNarrowConfigs));
  EXPECT_EQ(best.configs_failed, 0);
  EXPECT_EQ(best.choice.pruned.at(kind_of_prune("model: ")), 1);
}

TEST_F(SweepPrune, leaves_it_out_the_next_time_and_by_every_strategy) {
  for (const char* strategy : {"race", "exhaustive", "random", "local", "model"}) {
    FakeDevice device(kGpu);
    request.strategy = strategy;
    const SweepSummary summary = sweep(device);
    EXPECT_EQ(summary.pruned, 1U) << strategy;
    EXPECT_EQ(narrow(device).status, TrialStatus::pruned) << strategy;
  }
}

TEST_F(SweepPrune, tries_it_where_nothing_is_to_be_left_out_though_it_was_before) {
  FakeDevice device(kGpu);
  (void)sweep(device);
  request.prune = false;
  FakeDevice second(kGpu);
  const SweepSummary summary = sweep(second);
  EXPECT_EQ(summary.pruned, 0U);
  EXPECT_EQ(summary.measured, 1U);
  EXPECT_EQ(summary.reused, kNarrowConfigs - 1);
  EXPECT_EQ(narrow(device).status, TrialStatus::ok);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kNarrow);
  // Then its time is known.
  request.prune = true;
  FakeDevice third(kGpu);
  EXPECT_EQ(sweep(third).pruned, 0U);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kNarrow);
}

TEST_F(SweepPrune, tries_a_config_that_was_named) {
  FakeDevice device(kGpu);
  request.only[request.problems.front().key()] = {kNarrow};
  EXPECT_EQ(sweep(device).measured, 1U);
  EXPECT_EQ(narrow(device).status, TrialStatus::ok);
}

TEST_F(SweepPrune, tries_all_where_the_device_says_too_little) {
  FakeDevice device({.gpu = true});
  EXPECT_EQ(sweep(device).pruned, 0U);
  EXPECT_EQ(narrow(device).status, TrialStatus::ok);
}

TEST_F(SweepPrune, leaves_out_what_has_too_few_registers_when_it_is_compiled_and_before_it_is_loaded) {
  FakeDevice device(kGpu);
  device.fake_compiler.registers = 1;
  std::size_t loaded = 0;
  device.before_load = [&] { ++loaded; };
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.pruned, kNarrowConfigs - 1) << "all but the base";
  const std::size_t loaded_with_pruning = std::exchange(loaded, 0);
  std::size_t compiled = 0;
  for (const Trial& trial : trials(device)) {
    if (trial.status != TrialStatus::pruned || trial.config.text() == kNarrow) continue;
    EXPECT_EQ(trial.reason.find("occupancy: 1 registers a thread: "), 0U) << trial.reason;
    EXPECT_FALSE(trial.build_key.empty());
    ++compiled;
  }
  EXPECT_EQ(compiled, kNarrowConfigs - 2);
  EXPECT_EQ(winners(device).at(0).choice.pruned.at(kind_of_prune("occupancy: ")), static_cast<int>(compiled));
  request.prune = false;
  FakeDevice second(kGpu);
  second.before_load = device.before_load;
  EXPECT_EQ(sweep(second).measured, kNarrowConfigs - 1);
  EXPECT_GE(loaded, loaded_with_pruning + kNarrowConfigs - 2);
  EXPECT_EQ(narrow(device).status, TrialStatus::ok);
}

TEST_F(SweepPrune, tries_what_nobody_would_leave_out_today) {
  const std::pair<const char*, const char*> left_out[] = {
      {"plain{blocks=64,speed=2}",
       "spills: narrow_plain spills 200 bytes a thread, more than 128"},  // by older versions
      {"plain{blocks=64,speed=3}", "a rule of older versions"}};
  FakeDevice device(kGpu);
  const std::string problem = request.problems.front().key();
  request.only[problem] = {request.definition->base.text()};
  (void)sweep(device);
  Trial old = trials(device).front();
  old.id = 0;
  old.status = TrialStatus::pruned;
  old.timing.reset();
  old.accuracy.reset();
  for (const auto& [config, reason] : left_out) {
    old.config = Config::parse(config);
    old.reason = reason;
    (void)open().put_trial(key(device), request.definition->implementations.at(0).hash, old);
  }
  request.only.clear();
  FakeDevice second(kGpu);
  const SweepSummary summary = sweep(second);
  EXPECT_EQ(summary.pruned, 1U) << kNarrow;
  EXPECT_EQ(summary.measured, kNarrowConfigs - 2) << "all but that and the base, which is known";
  EXPECT_EQ(winners(device).at(0).trial.config.text(), left_out[0].first);
}

}  // namespace
}  // namespace tilewright::testing
