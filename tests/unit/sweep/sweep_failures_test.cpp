// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/unit/sweep/sweep_fixture.hpp"

namespace tilewright::testing {
namespace {

using SweepFailures = SweepFixture;

TEST_F(SweepFailures, of_each_kind_become_their_own_status_with_a_reason) {
  FakeDevice device;
  (void)sweep(device);
  const std::pair<Fault, TrialStatus> expected[] = {
      {Fault::compile, TrialStatus::compile_failed}, {Fault::wrong_result, TrialStatus::wrong_result},
      {Fault::crash, TrialStatus::crashed},          {Fault::timed_out, TrialStatus::timed_out},
      {Fault::refused, TrialStatus::exceeds_limits}, {Fault::wrong_in_place, TrialStatus::wrong_result}};
  for (const auto& [fault, status] : expected) {
    const Trial trial = trial_of(device, fault);
    EXPECT_EQ(name(trial.status), name(status)) << trial.config.text();
    EXPECT_FALSE(trial.reason.empty()) << trial.config.text();
    EXPECT_FALSE(trial.timing.has_value()) << trial.config.text();
  }
}

TEST_F(SweepFailures, to_compile_keep_the_whole_log_and_name_the_error) {
  FakeDevice device;
  (void)sweep(device);
  const Trial trial = trial_of(device, Fault::compile);
  EXPECT_EQ(trial.reason, "twice.cu(7): error: planted mistake");
  const auto build = open().build(trial.build_key);
  ASSERT_TRUE(build.has_value());
  EXPECT_FALSE(build->ok);
  EXPECT_NE(build->log.find("more lines"), std::string::npos);
}

TEST_F(SweepFailures, with_wrong_results_never_win_although_they_are_fastest) {
  FakeDevice device;
  (void)sweep(device);
  for (const Winner& winner : winners(device)) EXPECT_EQ(winner.trial.config.value_or("fault", -1), 0);
}

TEST_F(SweepFailures, that_show_on_other_data_only_take_the_winner_away) {
  FakeDevice device;
  (void)sweep(device);
  const Trial trial = trial_of(device, Fault::wrong_in_place);
  EXPECT_EQ(trial.reason.rfind("on other data, after timing: in place (y = x): ", 0), 0U) << trial.reason;
  ASSERT_FALSE(listener.notes.empty());
  EXPECT_NE(listener.notes.front().find("fault=6"), std::string::npos);
  EXPECT_EQ(winners(device).at(0).configs_failed, static_cast<int>(kFailing) + 1);
}

TEST_F(SweepFailures, that_take_a_gpus_context_are_stored_and_not_tried_again) {
  FakeDevice device({.gpu = true});
  try {
    (void)sweep(device);
    FAIL() << "a lost context must end the sweep";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("run the same command once more"), std::string::npos) << error.what();
  }
  EXPECT_EQ(trial_of(device, Fault::crash).status, TrialStatus::crashed);

  FakeDevice fresh({.gpu = true});
  const SweepSummary summary = sweep(fresh);
  EXPECT_FALSE(fresh.poisoned);
  EXPECT_EQ(summary.measured + summary.reused, kConfigs);
  EXPECT_EQ(winners(fresh).at(0).trial.config.text(), kBest);
}

TEST_F(SweepFailures, of_a_reference_to_compile_end_the_sweep_with_its_log) {
  FakeDevice device;
  device.fake_compiler.failing_entry = "twice_reference";
  try {
    (void)sweep(device);
    FAIL() << "nothing can be verified";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("planted mistake"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("reference of twice"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(trials(device).empty());
}

TEST_F(SweepFailures, of_the_compiler_itself_are_no_trials) {
  FakeDevice device;
  device.fake_compiler.broken = "NVRTC lost its headers";
  EXPECT_THROW((void)sweep(device), Error);
  EXPECT_TRUE(trials(device).empty());
}

TEST_F(SweepFailures, to_find_memory_cost_the_problem_and_not_the_sweep) {
  FakeDevice device({.memory = std::size_t{4} << 20});
  use_shapes("n=100,10000000,200");
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.problems, 2U);
  EXPECT_EQ(summary.without_winner, 1U);
  EXPECT_FALSE(winners(device, 0).empty());
  EXPECT_TRUE(winners(device, 1).empty());
  EXPECT_FALSE(winners(device, 2).empty());
  EXPECT_TRUE(std::any_of(listener.notes.begin(), listener.notes.end(), [](const std::string& note) {
    return note.find("n=10000000} is left out") != std::string::npos;
  }));
}

}  // namespace
}  // namespace tilewright::testing
