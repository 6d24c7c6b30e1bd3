// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/sweep.hpp"

#include <algorithm>

#include "tests/other_program.hpp"
#include "tests/unit/sweep/sweep_fixture.hpp"

namespace tilewright::testing {
namespace {

using Sweep = SweepFixture;

TEST_F(Sweep, makes_a_row_of_every_config_and_chooses_the_fastest_right_one) {
  FakeDevice device;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.problems, 1U);
  EXPECT_EQ(summary.measured, kConfigs);
  EXPECT_EQ(summary.failed, kFailing);
  EXPECT_EQ(summary.reused, 0U);
  EXPECT_EQ(summary.without_winner, 0U);
  EXPECT_FALSE(summary.interrupted);
  EXPECT_EQ(trials(device).size(), kConfigs);

  const std::vector<Winner> rows = winners(device);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].role, WinnerRole::best);
  EXPECT_EQ(rows[0].trial.config.text(), kBest);
  EXPECT_EQ(rows[1].role, WinnerRole::dynamic);
  EXPECT_EQ(rows[2].role, WinnerRole::base);
  EXPECT_EQ(rows[2].trial.config, request.definition->base);
  EXPECT_NEAR(*rows[0].base_ns / rows[0].trial.timing->median_ns, 3.0, 0.01);
  EXPECT_EQ(rows[0].strategy, "exhaustive");
  EXPECT_EQ(listener.best, "plain{fault=6,speed=1,static_dims=0}");  // right until the check in place
  EXPECT_EQ(listener.done.size(), 1U);
}

TEST_F(Sweep, stores_with_a_trial_all_that_its_time_depends_on) {
  FakeDevice device({.gpu = true});
  use_shapes("n=1000");
  device.fake_compiler.failing_entry = "";
  request.max_configs = 1;
  ASSERT_EQ(sweep(device).measured, 1U);
  const Trial listed = trials(device).at(0);
  const Trial trial = *open().trial(listed.id);
  EXPECT_EQ(trial.status, TrialStatus::ok);
  EXPECT_EQ(trial.mode, MeasureMode::cold);
  EXPECT_EQ(trial.gpu_uuid, "GPU-0000");
  EXPECT_EQ(trial.versions.compiler, "fake 1.0");
  EXPECT_FALSE(trial.versions.tilewright.empty());
  EXPECT_GT(trial.measured_at, 0);
  EXPECT_GT(trial.sweep, 0);
  EXPECT_EQ(trial.readings.sm_clock_mhz, 1980);
  EXPECT_EQ(trial.readings.throttle_reasons, 4U);
  ASSERT_TRUE(trial.timing.has_value());
  EXPECT_GE(trial.timing->rounds_ns.size(), 5U);
  EXPECT_GE(trial.timing->input_sets, 2);
  EXPECT_GE(trial.timing->launches_per_round, trial.timing->input_sets);
  EXPECT_NEAR(trial.timing->floor_ns, 100, 1);
  EXPECT_LE(trial.timing->low_ns, trial.timing->median_ns);
  EXPECT_GE(trial.timing->high_ns, trial.timing->median_ns);
  ASSERT_TRUE(trial.accuracy.has_value());
  EXPECT_EQ(trial.accuracy->max_absolute, 0);
  EXPECT_TRUE(open().build(trial.build_key)->ok);
}

TEST_F(Sweep, compiles_each_binary_once_however_many_shapes_use_it) {
  FakeDevice device;
  use_shapes("n=100,200,300");
  const SweepSummary summary = sweep(device);
  // Shared: three dynamic configs, six with a fault, the reference. For each shape: three with n specialised.
  EXPECT_EQ(summary.compiled, 3U + 6U + 1U + 3U * 3U);
  EXPECT_EQ(device.fake_compiler.compiles, static_cast<int>(summary.compiled));
  EXPECT_EQ(summary.measured, 3 * kConfigs);
}

TEST_F(Sweep, keeps_one_problem_together_and_tells_of_it_in_order) {
  FakeDevice device;
  use_shapes("n=100,200");
  (void)sweep(device);
  EXPECT_EQ(listener.started,
            (std::vector<std::string>{"twice[dtype=f32]{n=100} 0/2 12 0", "twice[dtype=f32]{n=200} 1/2 12 0"}));
  EXPECT_EQ(listener.done, (std::vector<std::string>{"twice[dtype=f32]{n=100}", "twice[dtype=f32]{n=200}"}));
}

TEST_F(Sweep, tunes_a_problem_that_was_asked_for_twice_once) {
  FakeDevice device;
  request.problems.push_back(request.problems.front());
  EXPECT_EQ(sweep(device).measured, kConfigs);
}

TEST_F(Sweep, measures_everything_anew_when_asked_to) {
  FakeDevice device;
  (void)sweep(device);
  request.again = true;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.measured, kConfigs);
  EXPECT_EQ(summary.reused, 0U);
  EXPECT_EQ(summary.compiled, 0U);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

TEST_F(Sweep, measures_anew_what_another_compiler_made) {
  FakeDevice device;
  (void)sweep(device);
  device.fake_compiler.version_text = "fake 2.0";
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.measured, kConfigs);
  EXPECT_GT(summary.compiled, 0U);
}

TEST_F(Sweep, measures_nothing_anew_after_a_new_tilewright_alone) {
  FakeDevice device;
  (void)sweep(device);
  OtherProgram((folder / "cache.db").string()).exec("UPDATE versions SET tilewright = '0.0.1'");
  EXPECT_EQ(sweep(device).measured, 0U);
}

TEST_F(Sweep, of_another_mode_shares_binaries_but_no_trials) {
  FakeDevice device;
  (void)sweep(device);
  request.mode = MeasureMode::hot;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.measured, kConfigs);
  EXPECT_EQ(summary.compiled, 0U);
}

TEST_F(Sweep, considers_no_more_configs_than_asked_but_always_the_base) {
  FakeDevice device;
  request.max_configs = 3;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.measured, 3U);
  const std::vector<Trial> made = trials(device);
  EXPECT_TRUE(std::any_of(made.begin(), made.end(),
                          [&](const Trial& trial) { return trial.config == request.definition->base; }));
}

TEST_F(Sweep, with_few_configs_does_not_undo_the_winner_of_a_long_one) {
  FakeDevice device;
  (void)sweep(device);
  request.max_configs = 1;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.measured, 0U);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

TEST_F(Sweep, with_few_configs_measures_the_winner_of_a_long_one_anew) {
  FakeDevice device;
  (void)sweep(device);
  request.max_configs = 1;
  request.again = true;
  EXPECT_EQ(sweep(device).measured, 2U) << "the base and the winner";
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

/// `twice` with an attribute whose second value follows the first.
class FollowingSweep : public SweepFixture {
 protected:
  FollowingSweep() : definition(*request.definition) {
    definition.interface.attributes.push_back({"mask", {"none", "band"}});
    definition.follows = {"mask"};
    request.definition = &definition;
  }
  SweepSummary swept(const std::string& spec) {
    request.problems = parse_shapes("n=100", parse_spec(spec, definition.interface), definition.interface);
    return sweep(device);
  }

  OpDefinition definition;
  FakeDevice device;
};

TEST_F(FollowingSweep, tries_the_base_and_what_led_in_the_problem_that_is_followed) {
  EXPECT_EQ(swept("twice").measured, kConfigs);
  EXPECT_LT(swept("twice[mask=band]").measured, kConfigs / 2);
  const std::vector<Winner> rows = winners(device);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].trial.config.text(), kBest);
  EXPECT_EQ(rows[2].trial.config, definition.base);
}

TEST_F(FollowingSweep, tries_everything_where_the_problem_that_is_followed_was_never_swept) {
  EXPECT_EQ(swept("twice[mask=band]").measured, kConfigs);
}

TEST_F(FollowingSweep, keeps_its_own_winner_where_another_config_leads_in_the_problem_that_is_followed) {
  (void)swept("twice[mask=band]");
  const std::string slow = "plain{fault=0,speed=5,static_dims=0}";
  request.only["twice[dtype=f32,mask=none]{n=100}"] = {slow};
  (void)swept("twice");
  ASSERT_EQ(winners(device).at(0).trial.config.text(), slow);
  EXPECT_EQ(swept("twice[mask=band]").measured, 0U);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
  request.again = true;
  EXPECT_LT(swept("twice[mask=band]").measured, kConfigs / 2);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

TEST_F(FollowingSweep, tries_the_configs_that_are_named) {
  (void)swept("twice");
  const std::string slow = "plain{fault=0,speed=5,static_dims=1}";
  request.only["twice[dtype=f32,mask=band]{n=100}"] = {slow};
  EXPECT_EQ(swept("twice[mask=band]").measured, 1U);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), slow);
}

TEST_F(Sweep, measures_the_copy_of_the_same_bytes_and_once_for_the_same_bytes) {
  FakeDevice device;
  request.ceilings = true;
  use_shapes("n=1000,2000");
  SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.ceilings, 2U);
  EXPECT_EQ(device.copies_timed, 2);
  EXPECT_EQ(summary.measured, 2 * kConfigs);
  const auto ceiling = open().ceiling("cpu", 8000, 1, MeasureMode::cold);
  ASSERT_TRUE(ceiling.has_value());
  EXPECT_NEAR(*ceiling->memcpy_ns, 2500, 5);
  EXPECT_NEAR(*ceiling->copy_op_ns, 4000, 8);
  EXPECT_NEAR(ceiling->best_ns(), 2500, 5);

  // Nothing is measured, so the ceiling is not needed.
  const int timed = device.timed;
  summary = sweep(device);
  EXPECT_EQ(summary.ceilings, 0U);
  EXPECT_EQ(device.timed, timed);
  EXPECT_EQ(device.copies_timed, 2);
}

TEST_F(Sweep, measures_a_ceiling_again_with_any_problem_of_its_traffic_and_once) {
  FakeDevice device;
  OpDefinition alike = *request.definition;
  alike.bytes = Formula::parse("8000");
  request.definition = &alike;
  request.ceilings = true;
  use_shapes("n=1000");
  EXPECT_EQ(sweep(device).ceilings, 1U);
  use_shapes("n=1000,2000");
  EXPECT_EQ(sweep(device).ceilings, 1U) << "the first is in the cache, the second is not";
  use_shapes("n=3000,4000");
  EXPECT_EQ(sweep(device).ceilings, 1U);
  EXPECT_EQ(sweep(device).ceilings, 0U);
}

TEST_F(Sweep, measures_a_gpus_compute_rate_once) {
  FakeDevice device({.gpu = true});
  request.ceilings = true;
  request.max_configs = 1;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.problems, 1U);
  EXPECT_EQ(summary.without_winner, 0U);
  const auto rate = open().compute_rate(device.facts().fingerprint());
  ASSERT_TRUE(rate.has_value());
  // 800,000 operations in 4 µs, the time of configs without a speed.
  EXPECT_NEAR(rate->flops_per_second, 800'000 / 4e-6, 2e-3 * 2e11);
  EXPECT_EQ(rate->gpu_uuid, device.gpu_uuid());

  const int timed = device.timed;
  (void)sweep(device);
  EXPECT_EQ(device.timed, timed);
}

TEST_F(Sweep, measures_the_rate_of_tensor_cores_for_what_they_may_compute_and_for_nothing_else) {
  FakeDevice device({.gpu = true});
  const std::string fingerprint = device.facts().fingerprint();
  request.ceilings = true;
  request.max_configs = 1;
  (void)sweep(device);
  ASSERT_EQ(open().compute_rates(fingerprint).size(), 1U);
  EXPECT_EQ(open().compute_rates(fingerprint).front().unit, kFp32);

  OpDefinition on_tensor_cores = *request.definition;
  on_tensor_cores.tensor_cores = Formula::parse("dtype == 'f32'");
  request.definition = &on_tensor_cores;
  (void)sweep(device);
  const auto rate = open().compute_rate(fingerprint, "tensor_tf32");
  ASSERT_TRUE(rate.has_value());
  EXPECT_NEAR(rate->flops_per_second, 16'000'000 / 4e-6, 2e-3 * 4e12);
  EXPECT_EQ(open().compute_rates(fingerprint).size(), 2U);

  const int timed = device.timed;
  (void)sweep(device);
  EXPECT_EQ(device.timed, timed);
}

TEST_F(Sweep, measures_no_compute_rate_on_the_emulator_or_without_ceilings) {
  FakeDevice emulator;
  request.ceilings = true;
  (void)sweep(emulator);
  EXPECT_FALSE(open().compute_rate("cpu").has_value());
}

TEST_F(Sweep, bounds_the_input_sets_by_the_memory_there_is) {
  FakeDevice device({.gpu = true, .memory = std::size_t{8} << 20});
  use_shapes("n=200000");  // 1.6 MB a set: twice the L2 would take some sixty sets
  request.max_configs = 1;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.problems, 1U);
  EXPECT_LE(device.most_used, std::size_t{8} << 20);
  EXPECT_EQ(device.used, 0U);
  const Trial trial = trials(device).at(0);
  EXPECT_EQ(trial.status, TrialStatus::ok) << trial.reason;
  EXPECT_GE(trial.timing->input_sets, 1);
  EXPECT_LE(trial.timing->input_sets, 4);
}

TEST_F(Sweep, times_all_draws_in_a_round_of_single_launches) {
  FakeDevice device;
  OpDefinition drawn = *request.definition;
  drawn.draws = 3;
  request.definition = &drawn;
  request.mode = MeasureMode::events;
  request.max_configs = 1;
  (void)sweep(device);
  const Trial trial = trials(device).at(0);
  ASSERT_TRUE(trial.timing.has_value()) << trial.reason;
  EXPECT_EQ(trial.timing->input_sets, 3);
  EXPECT_EQ(trial.timing->launches_per_round, 3);
}

TEST_F(Sweep, has_whole_turns_of_the_draws_where_memory_ends_within_one) {
  FakeDevice device{{.gpu = true}};
  OpDefinition drawn = *request.definition;
  drawn.draws = 2;
  request.definition = &drawn;
  request.max_configs = 1;
  int outputs = 0;
  device.allocated = [&](const std::string& what, Address) {
    // The verifier's set, then three that rotate.
    if (what == "argument y" && ++outputs == 4) device.taken = std::size_t{64} << 20;
  };
  device.before_timing = [&] { device.taken = 0; };
  (void)sweep(device);
  const Trial trial = trials(device).at(0);
  ASSERT_TRUE(trial.timing.has_value()) << trial.reason;
  EXPECT_EQ(trial.timing->input_sets, 2);
}

TEST_F(Sweep, makes_rounds_long_enough_although_one_launch_looks_slow) {
  // 9 µs a launch and 100 µs a round: from a single launch, ten seem to take a millisecond.
  FakeDevice device({.round_overhead_ns = 100'000});
  request.max_configs = 1;
  (void)sweep(device);
  EXPECT_GE(trials(device).at(0).timing->launches_per_round, 50);
}

TEST_F(Sweep, frees_the_memory_of_a_large_problem_before_the_next) {
  FakeDevice device({.gpu = true, .memory = std::size_t{32} << 20});
  device.fake_compiler.crashing_fails = true;
  use_shapes("n=100000");  // 800 kB a set: memory has room for one
  (void)sweep(device);
  const std::size_t one = device.most_used;
  FakeDevice other({.gpu = true, .memory = std::size_t{32} << 20});
  other.fake_compiler.crashing_fails = true;
  use_shapes("n=100000,100001,100002");
  request.again = true;
  (void)sweep(other);
  EXPECT_LT(other.most_used, one + one / 2);
  EXPECT_EQ(other.used, 0U);
}

TEST_F(Sweep, marks_times_that_a_second_process_disturbs_and_goes_on) {
  FakeDevice device{{.gpu = true}};
  request.max_configs = 3;
  int asked = 0;
  device.read = [&] {
    ++asked;
    DeviceReadings readings;
    readings.other_processes = 1;
    return readings;
  };
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.without_winner, 0U);
  // A time lies between two readings; a time that is waited for is taken four times.
  EXPECT_LT(asked, 2 * 4 * device.timed) << "each is not waited for";
  EXPECT_NE(winners(device).at(0).trial.reason.find("disturbed by 1 other process on the GPU"), std::string::npos);
}

TEST_F(Sweep, keeps_the_time_that_was_taken_again_when_the_other_process_had_gone) {
  FakeDevice device{{.gpu = true}};
  request.max_configs = 3;
  int asked = 0;
  device.read = [&] {
    DeviceReadings readings;
    readings.other_processes = ++asked < 4 ? 1 : 0;
    return readings;
  };
  EXPECT_EQ(sweep(device).without_winner, 0U);
  for (const Trial& trial : trials(device)) EXPECT_EQ(trial.reason.find("disturbed"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::testing
