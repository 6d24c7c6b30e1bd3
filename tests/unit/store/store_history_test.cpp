// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cache/store/history.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright::store_tests::store_history_test {
namespace {

TEST(StoreHistory, has_every_trial_and_marks_the_newest_of_each_config) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "cache.db");
  const ProblemKey key = softmax_key(8, 100);
  const auto first = store.put_trial(key, "impl-1", full_trial(onchip_config(4), 1000));
  const auto other = store.put_trial(key, "impl-1", full_trial(onchip_config(8), 2000));
  const auto again = store.put_trial(key, "impl-1", full_trial(onchip_config(4), 900));
  const History history = store.history();
  ASSERT_EQ(history.trials.size(), 3U);
  EXPECT_EQ(history.trials[0].id, first);
  EXPECT_FALSE(history.trials[0].newest);
  EXPECT_EQ(history.trials[1].id, other);
  EXPECT_TRUE(history.trials[1].newest);
  EXPECT_EQ(history.trials[2].id, again);
  EXPECT_TRUE(history.trials[2].newest);
  EXPECT_DOUBLE_EQ(history.trials[2].median_ns, 900);
  EXPECT_EQ(history.trials[2].rounds, 2);
  EXPECT_EQ(history.trials[2].launches_per_round, 20);
  EXPECT_EQ(history.configs.at(history.trials[2].config).text, "onchip{num_warps=4,static_dims=1}");
  EXPECT_EQ(history.problems.at(history.trials[2].problem).dims, key.problem.dims);
  EXPECT_EQ(history.devices.at(history.trials[2].device), h200());
}

TEST(StoreHistory, trials_of_another_mode_or_device_are_no_newer_ones) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "cache.db");
  Trial hot = full_trial(onchip_config(4));
  hot.mode = MeasureMode::hot;
  store.put_trial(softmax_key(8, 100), "impl-1", full_trial(onchip_config(4)));
  store.put_trial(softmax_key(8, 100), "impl-1", hot);
  store.put_trial(softmax_key(8, 100, a100()), "impl-1", full_trial(onchip_config(4)));
  for (const History::TrialOf& trial : store.history().trials) EXPECT_TRUE(trial.newest);
}

TEST(StoreHistory, tells_failures_with_their_reasons_once_and_no_time) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "cache.db");
  for (const int warps : {1, 2}) {
    Trial failed = full_trial(onchip_config(warps));
    failed.timing.reset();
    failed.status = TrialStatus::crashed;
    failed.reason = "an illegal address";
    store.put_trial(softmax_key(8, 100), "impl-1", failed);
  }
  const History history = store.history();
  ASSERT_EQ(history.reasons, (std::vector<std::string>{"", "an illegal address"}));
  EXPECT_EQ(history.trials[1].reason, 1);
  EXPECT_EQ(history.trials[1].status, TrialStatus::crashed);
  EXPECT_EQ(history.trials[1].median_ns, 0);
  EXPECT_EQ(history.trials[1].rounds, 0);
}

TEST(StoreHistory, has_builds_and_sweeps_that_trials_name) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "cache.db");
  Build build{.key = "0123456789abcdef0123456789abcdef",
              .ok = false,
              .binary_hash = {},
              .kernels = {{"a", "a", 40, 8, 4, 0, 0}, {"b", "b", 30, 2, 0, 0, 0}},
              .log = "long",
              .compiler = "NVRTC 13.0",
              .arch = "sm_90",
              .milliseconds = 12.5};
  store.put_build(build, {});
  Trial trial = full_trial(onchip_config(4));
  trial.build_key = build.key;
  trial.sweep = store.begin_sweep("tilewright sweep softmax", h200().fingerprint());
  store.put_trial(softmax_key(8, 100), "impl-1", trial);
  store.begin_sweep("without trials", h200().fingerprint());
  const History history = store.history();
  ASSERT_EQ(history.builds.size(), 1U);
  const History::BuildOf& told = history.builds.at(history.trials[0].build);
  EXPECT_EQ(told.registers, 40);
  EXPECT_EQ(told.spill_bytes, 14);
  EXPECT_DOUBLE_EQ(told.milliseconds, 12.5);
  EXPECT_EQ(told.sweep, 0);
  EXPECT_EQ(told.began_us, 0);
  ASSERT_EQ(history.sweeps.size(), 1U);
  EXPECT_EQ(history.sweeps.at(history.trials[0].sweep).command, "tilewright sweep softmax");
  EXPECT_EQ(history.sweeps.at(history.trials[0].sweep).ended_at, std::nullopt);
}

TEST(StoreHistory, marks_one_that_was_pruned_only_where_none_was_tried_by_the_same_driver_and_compiler) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "cache.db");
  Trial pruned;
  pruned.status = TrialStatus::pruned;
  pruned.reason = "cannot win";
  pruned.versions = versions();
  pruned.versions.tilewright = "9.0.0";
  for (const int warps : {4, 8}) {
    pruned.config = onchip_config(warps);
    store.put_trial(softmax_key(8, 100), "impl-1", pruned);
  }
  store.put_trial(softmax_key(8, 100), "impl-1", full_trial(onchip_config(4)));
  pruned.config = onchip_config(4);
  store.put_trial(softmax_key(8, 100), "impl-1", pruned);
  const std::vector<History::TrialOf> trials = store.history().trials;
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_FALSE(trials[0].newest);
  EXPECT_TRUE(trials[1].newest) << "the other config was never tried";
  EXPECT_TRUE(trials[2].newest);
  EXPECT_FALSE(trials[3].newest);
}

TEST(StoreHistory, tells_which_compiler_made_a_build_and_when_a_device_worked_for_a_trial) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "cache.db");
  const std::int64_t sweep = store.begin_sweep("tilewright sweep softmax", h200().fingerprint());
  store.put_build({"k1", false, "", {}, "log", "NVRTC 13.0", "sm_90", 1, sweep, 3, 1'763'000'000'000'001}, {});
  Trial trial = full_trial(onchip_config(4));
  trial.build_key = "k1";
  trial.sweep = sweep;
  trial.phases = {1'763'000'000'123'456, 7, 1'500, 20'000};
  store.put_trial(softmax_key(8, 100), "impl-1", trial);
  Trial other = full_trial(onchip_config(8));
  other.gpu_uuid = "GPU-5678";
  store.put_trial(softmax_key(8, 100), "impl-1", other);
  store.put_build({"k2", false, "", {}, "log", "NVRTC 13.0", "sm_90", 1, sweep, 0, 1'763'000'000'000'002}, {});
  store.put_build({"k3", false, "", {}, "log", "NVRTC 13.0", "sm_90", 1}, {});
  const History history = store.history();
  EXPECT_EQ(history.builds.size(), 2U) << "what else the sweep built is told, and nothing of others";
  EXPECT_EQ(history.gpus, (std::vector<std::string>{"", "GPU-1234", "GPU-5678"}));
  EXPECT_EQ(history.trials[0].gpu, 1);
  EXPECT_EQ(history.trials[1].gpu, 2);
  const History::BuildOf& build = history.builds.at(history.trials[0].build);
  EXPECT_EQ(build.sweep, sweep);
  EXPECT_EQ(build.worker, 3);
  EXPECT_EQ(build.began_us, 1'763'000'000'000'001);
  EXPECT_EQ(history.trials[0].phases, trial.phases);
  EXPECT_EQ(history.trials[1].phases, Phases{});
}

TEST(StoreHistory, of_one_op_has_nothing_of_others) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "cache.db");
  store.put_trial(softmax_key(8, 100), "impl-1", full_trial(onchip_config(4)));
  EXPECT_EQ(store.history("softmax").trials.size(), 1U);
  EXPECT_TRUE(store.history("gemm").trials.empty());
  EXPECT_TRUE(store.history("gemm").problems.empty());
}

}  // namespace
}  // namespace tilewright::store_tests::store_history_test
