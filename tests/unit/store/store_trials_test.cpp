// SPDX-License-Identifier: Apache-2.0
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/store/fixture.hpp"

namespace tilewright::store_trials_test {
namespace {

using namespace store_tests;
using ::testing::HasSubstr;

class StoreTrials : public testing::Test {
 protected:
  TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const ProblemKey key = softmax_key(8, 100);
};

TEST_F(StoreTrials, a_trial_comes_back_whole) {
  store.put_build({"k1", false, "", {}, "log", "NVRTC 13.0", "sm_90", 1}, {});
  const std::int64_t sweep = store.begin_sweep("sweep", h200().fingerprint());
  Trial trial = full_trial(onchip_config(8, 0), 1234.5);
  trial.reason = "";
  trial.mode = MeasureMode::events;
  trial.build_key = "k1";
  trial.sweep = sweep;
  const std::int64_t id = store.put_trial(key, "impl-1", trial);
  const auto found = store.trial(id);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->id, id);
  EXPECT_EQ(found->status, TrialStatus::ok);
  EXPECT_EQ(found->config, trial.config);
  EXPECT_EQ(found->mode, MeasureMode::events);
  ASSERT_TRUE(found->timing.has_value());
  EXPECT_EQ(found->timing->median_ns, 1234.5);
  EXPECT_EQ(found->timing->low_ns, trial.timing->low_ns);
  EXPECT_EQ(found->timing->high_ns, trial.timing->high_ns);
  EXPECT_EQ(found->timing->min_ns, trial.timing->min_ns);
  EXPECT_EQ(found->timing->rounds_ns, trial.timing->rounds_ns);
  EXPECT_EQ(found->timing->launches_per_round, 20);
  EXPECT_EQ(found->timing->input_sets, 3);
  EXPECT_EQ(found->timing->floor_ns, 900);
  ASSERT_TRUE(found->accuracy.has_value());
  EXPECT_EQ(found->accuracy->max_absolute, 1e-3);
  EXPECT_EQ(found->accuracy->max_relative, 2e-3);
  EXPECT_EQ(found->accuracy->norm_relative, 3e-4);
  EXPECT_EQ(found->readings.sm_clock_mhz, 1980);
  EXPECT_EQ(found->readings.memory_clock_mhz, 3201);
  EXPECT_EQ(found->readings.temperature_c, 41);
  EXPECT_EQ(found->readings.power_mw, 350'000);
  EXPECT_EQ(found->readings.throttle_reasons, 0x8000'0000'0000'0004u);
  EXPECT_EQ(found->gpu_uuid, "GPU-1234");
  EXPECT_EQ(found->versions, versions());
  EXPECT_EQ(found->build_key, "k1");
  EXPECT_EQ(found->sweep, sweep);
  EXPECT_EQ(found->measured_at, 1'700'000'000);
  EXPECT_FALSE(store.trial(id + 1).has_value());
}

TEST_F(StoreTrials, a_failed_trial_comes_back_without_what_it_has_not) {
  Trial trial;
  trial.status = TrialStatus::timed_out;
  trial.reason = "no answer within 10 s\nsecond line, 'quoted'";
  trial.config = onchip_config(4);
  trial.versions = {0, "g++ 12.2.0", "0.1.0"};
  const auto found = store.trial(store.put_trial(softmax_key(8, 100, emulator_facts()), "impl-1", trial));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->status, TrialStatus::timed_out);
  EXPECT_EQ(found->reason, trial.reason);
  EXPECT_FALSE(found->timing.has_value());
  EXPECT_FALSE(found->accuracy.has_value());
  EXPECT_FALSE(found->readings.power_mw.has_value());
  EXPECT_FALSE(found->readings.throttle_reasons.has_value());
  EXPECT_EQ(found->build_key, "");
  EXPECT_EQ(found->sweep, 0);
  EXPECT_GT(found->measured_at, 1'700'000'000) << "a moment that was left out is now";
}

TEST_F(StoreTrials, the_accuracy_of_a_wrong_result_keeps_nan_and_infinity) {
  Trial trial = full_trial(onchip_config(4));
  trial.status = TrialStatus::wrong_result;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  trial.accuracy = Accuracy{nan, std::numeric_limits<double>::infinity(), nan};
  const auto found = store.trial(store.put_trial(key, "impl-1", trial));
  ASSERT_TRUE(found->accuracy.has_value());
  EXPECT_TRUE(std::isnan(found->accuracy->max_absolute));
  EXPECT_TRUE(std::isinf(found->accuracy->max_relative));
  EXPECT_TRUE(std::isnan(found->accuracy->norm_relative));
}

TEST_F(StoreTrials, a_time_that_is_no_number_is_refused) {
  Trial trial = full_trial(onchip_config(4));
  trial.timing->rounds_ns.push_back(std::numeric_limits<double>::infinity());
  EXPECT_THAT(refusal([&] { (void)store.put_trial(key, "impl-1", trial); }), HasSubstr("that is not a number"));
  EXPECT_EQ(store.counts().trials, 0);
}

TEST_F(StoreTrials, a_listing_gives_the_newest_trial_of_each_config_without_its_rounds) {
  const std::int64_t old = store.put_trial(key, "impl-1", full_trial(onchip_config(4), 100));
  const std::int64_t other = store.put_trial(key, "impl-1", full_trial(onchip_config(8), 200));
  const std::int64_t fresh = store.put_trial(key, "impl-1", full_trial(onchip_config(4), 300));
  const auto trials = store.trials(key, {"impl-1"}, MeasureMode::cold);
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0].id, other);
  EXPECT_EQ(trials[1].id, fresh);
  EXPECT_EQ(trials[1].timing->median_ns, 300);
  EXPECT_TRUE(trials[1].timing->rounds_ns.empty());
  EXPECT_EQ(store.trial(old)->timing->median_ns, 100) << "the older one is kept";
  EXPECT_EQ(store.counts().trials, 3);
}

Trial pruned_trial(const Config& config) {
  Trial trial;
  trial.status = TrialStatus::pruned;
  trial.reason = "moves 3.2 GB, which takes 700 us at best; the best takes 210 us";
  trial.config = config;
  trial.versions = versions();
  return trial;
}

TEST_F(StoreTrials, one_that_was_pruned_has_a_reason_a_build_if_it_came_so_far_and_nothing_that_was_measured) {
  store.put_build({"k1", false, "", {}, "log", "NVRTC 13.0", "sm_90", 1}, {});
  Trial trial = pruned_trial(onchip_config(4));
  const auto before = store.trial(store.put_trial(key, "impl-1", trial));
  EXPECT_EQ(before->status, TrialStatus::pruned);
  EXPECT_EQ(before->reason, trial.reason);
  EXPECT_EQ(before->build_key, "");
  EXPECT_FALSE(before->timing.has_value());
  EXPECT_FALSE(before->phases.has_value());
  trial.build_key = "k1";
  EXPECT_EQ(store.trial(store.put_trial(key, "impl-1", trial))->build_key, "k1");
}

TEST_F(StoreTrials, what_was_tried_is_not_stored_as_pruned) {
  Trial timed = full_trial(onchip_config(4));
  timed.status = TrialStatus::pruned;
  EXPECT_THAT(refusal([&] { (void)store.put_trial(key, "impl-1", timed); }), HasSubstr("as pruned"));
  Trial compared = pruned_trial(onchip_config(4));
  compared.accuracy = Accuracy{};
  EXPECT_THAT(refusal([&] { (void)store.put_trial(key, "impl-1", compared); }), HasSubstr("as pruned"));
  EXPECT_EQ(store.counts().trials, 0);
}

TEST_F(StoreTrials, one_that_was_pruned_counts_only_where_none_was_tried_under_the_same_versions) {
  const auto listed = [&] { return store.trials(key, {"impl-1"}, MeasureMode::cold); };
  const std::int64_t pruned = store.put_trial(key, "impl-1", pruned_trial(onchip_config(4)));
  ASSERT_EQ(listed().size(), 1u);
  EXPECT_EQ(listed()[0].id, pruned);
  const std::int64_t tried = store.put_trial(key, "impl-1", full_trial(onchip_config(4)));
  EXPECT_EQ(listed()[0].id, tried);
  (void)store.put_trial(key, "impl-1", pruned_trial(onchip_config(4)));
  ASSERT_EQ(listed().size(), 1u);
  EXPECT_EQ(listed()[0].id, tried) << "pruned afterwards, as by another sweep at the same time";
  Trial newer = pruned_trial(onchip_config(4));
  newer.versions.driver += 10;
  const std::int64_t other = store.put_trial(key, "impl-1", newer);
  ASSERT_EQ(listed().size(), 1u);
  EXPECT_EQ(listed()[0].id, other) << "under another driver nothing was tried";
}

TEST_F(StoreTrials, when_a_device_worked_for_a_trial_comes_back) {
  Trial trial = full_trial(onchip_config(4));
  trial.phases = {1'763'000'000'123'456, 0, 1'500, 20'000};
  EXPECT_EQ(store.trial(store.put_trial(key, "impl-1", trial))->phases, trial.phases);
  EXPECT_EQ(store.trials(key, {"impl-1"}, MeasureMode::cold)[0].phases, trial.phases);
  trial.phases.reset();
  EXPECT_EQ(store.trial(store.put_trial(key, "impl-1", trial))->phases, std::nullopt);
}

TEST_F(StoreTrials, a_listing_is_of_one_problem_device_mode_and_of_the_implementations_named) {
  store.put_implementation(key.interface_hash, onchip("impl-2"));
  const std::int64_t wanted = store.put_trial(key, "impl-1", full_trial(onchip_config(4)));
  const std::int64_t second = store.put_trial(key, "impl-2", full_trial(onchip_config(4)));
  (void)store.put_trial(softmax_key(8, 101), "impl-1", full_trial(onchip_config(4)));
  (void)store.put_trial(softmax_key(8, 100, a100()), "impl-1", full_trial(onchip_config(4)));
  (void)store.put_trial(softmax_key(8, 100, h200(), DType::f32), "impl-1", full_trial(onchip_config(4)));
  Trial hot = full_trial(onchip_config(4));
  hot.mode = MeasureMode::hot;
  (void)store.put_trial(key, "impl-1", hot);
  const auto first = store.trials(key, {"impl-1"}, MeasureMode::cold);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].id, wanted);
  const auto both = store.trials(key, {"impl-2", "unknown", "impl-1"}, MeasureMode::cold);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].id, wanted);
  EXPECT_EQ(both[1].id, second);
  EXPECT_TRUE(store.trials(key, {}, MeasureMode::cold).empty());
  EXPECT_TRUE(store.trials(softmax_key(1, 1), {"impl-1"}, MeasureMode::cold).empty());
}

TEST_F(StoreTrials, a_trial_of_something_unknown_is_refused_whole) {
  const Trial trial = full_trial(onchip_config(4));
  ProblemKey unknown = key;
  unknown.interface_hash = "beef";
  EXPECT_THAT(refusal([&] { (void)store.put_trial(unknown, "impl-1", trial); }), HasSubstr("put_interface"));
  EXPECT_THAT(refusal([&] { (void)store.put_trial(key, "impl-9", trial); }), HasSubstr("put_implementation"));
  unknown = key;
  unknown.device_fingerprint = "GTX fictional";
  EXPECT_THAT(refusal([&] { (void)store.put_trial(unknown, "impl-1", trial); }), HasSubstr("put_device"));
  Trial with_build = trial;
  with_build.build_key = "k9";
  EXPECT_THAT(refusal([&] { (void)store.put_trial(key, "impl-1", with_build); }), HasSubstr("put_build"));
  Trial with_sweep = trial;
  with_sweep.sweep = 9;
  EXPECT_THAT(refusal([&] { (void)store.put_trial(key, "impl-1", with_sweep); }), HasSubstr("begin_sweep"));
  const Store::Counts counts = store.counts();
  EXPECT_EQ(counts.trials, 0);
  EXPECT_EQ(counts.problems, 0) << "rolled back with the rest";
  EXPECT_EQ(counts.configs, 0);
}

TEST_F(StoreTrials, the_newest_ceiling_of_a_size_counts) {
  EXPECT_FALSE(store.ceiling(key.device_fingerprint, 1024, 1, MeasureMode::cold).has_value());
  store.put_ceiling(key.device_fingerprint, {1024, 1, MeasureMode::cold, 50, 60, "GPU-1", 5});
  store.put_ceiling(key.device_fingerprint, {1024, 1, MeasureMode::cold, std::nullopt, 40, "GPU-2", 7});
  store.put_ceiling(key.device_fingerprint, {1024, 1, MeasureMode::hot, 10, std::nullopt, "GPU-1", 0});
  const auto cold = store.ceiling(key.device_fingerprint, 1024, 1, MeasureMode::cold);
  ASSERT_TRUE(cold.has_value());
  EXPECT_EQ(cold->bytes, 1024);
  EXPECT_EQ(cold->memcpy_ns, std::nullopt);
  EXPECT_EQ(cold->copy_op_ns, 40);
  EXPECT_EQ(cold->gpu_uuid, "GPU-2");
  EXPECT_EQ(cold->measured_at, 7);
  EXPECT_EQ(store.ceiling(key.device_fingerprint, 1024, 1, MeasureMode::hot)->memcpy_ns, 10);
  EXPECT_FALSE(store.ceiling(key.device_fingerprint, 2048, 1, MeasureMode::cold).has_value());
  EXPECT_FALSE(store.ceiling("GTX fictional", 1024, 1, MeasureMode::cold).has_value());
  EXPECT_THROW(store.put_ceiling("GTX fictional", {1024}), CacheError);
}

TEST_F(StoreTrials, ceilings_of_different_ratios_are_apart) {
  store.put_ceiling(key.device_fingerprint, {1024, 1, MeasureMode::cold, 50, 60, "GPU-1", 5});
  store.put_ceiling(key.device_fingerprint, {1024, 2, MeasureMode::cold, std::nullopt, 45, "GPU-1", 6});
  EXPECT_EQ(store.ceiling(key.device_fingerprint, 1024, 1, MeasureMode::cold)->copy_op_ns, 60);
  const auto sum = store.ceiling(key.device_fingerprint, 1024, 2, MeasureMode::cold);
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->reads, 2);
  EXPECT_EQ(sum->copy_op_ns, 45);
  EXPECT_FALSE(store.ceiling(key.device_fingerprint, 1024, 3, MeasureMode::cold).has_value());
}

TEST_F(StoreTrials, the_newest_compute_rate_of_a_device_counts) {
  EXPECT_FALSE(store.compute_rate(key.device_fingerprint).has_value());
  store.put_compute_rate(key.device_fingerprint, {6e13, "chains{chains=4}", "GPU-1", 5});
  store.put_compute_rate(key.device_fingerprint, {6.5e13, "chains{chains=8}", "GPU-2", 0});
  const auto rate = store.compute_rate(key.device_fingerprint);
  ASSERT_TRUE(rate.has_value());
  EXPECT_EQ(rate->flops_per_second, 6.5e13);
  EXPECT_EQ(rate->config, "chains{chains=8}");
  EXPECT_EQ(rate->gpu_uuid, "GPU-2");
  EXPECT_GT(rate->measured_at, 1'700'000'000);
  EXPECT_FALSE(store.compute_rate("cpu").has_value());
  EXPECT_THROW(store.put_compute_rate("GTX fictional", {1e12}), CacheError);
  EXPECT_THROW(store.put_compute_rate(key.device_fingerprint, {0}), CacheError);
}

TEST_F(StoreTrials, compute_rates_of_different_units_are_apart) {
  EXPECT_TRUE(store.compute_rates("cpu").empty());
  store.put_compute_rate(key.device_fingerprint, {9e14, "warpgroup{}", "GPU-1", 5, "tensor_bf16"});
  EXPECT_FALSE(store.compute_rate(key.device_fingerprint).has_value());
  store.put_compute_rate(key.device_fingerprint, {6e13, "chains{}", "GPU-1", 6});
  store.put_compute_rate(key.device_fingerprint, {8e14, "warpgroup{}", "GPU-1", 7, "tensor_bf16"});
  EXPECT_EQ(store.compute_rate(key.device_fingerprint)->flops_per_second, 6e13);
  const auto tensor = store.compute_rate(key.device_fingerprint, "tensor_bf16");
  ASSERT_TRUE(tensor.has_value());
  EXPECT_EQ(tensor->flops_per_second, 8e14);
  EXPECT_EQ(tensor->unit, "tensor_bf16");
  EXPECT_FALSE(store.compute_rate(key.device_fingerprint, "tensor_f16").has_value());
  const auto rates = store.compute_rates(key.device_fingerprint);
  ASSERT_EQ(rates.size(), 2U);
  EXPECT_EQ(rates[0].unit, kFp32);
  EXPECT_EQ(rates[1].measured_at, 7);
}

TEST_F(StoreTrials, of_a_device_and_mode_tell_which_problems_of_an_interface_were_tried) {
  for (const std::int64_t cols : {200, 100})
    store.put_trial(softmax_key(8, cols), "impl-1", full_trial(onchip_config(4)));
  store.put_trial(softmax_key(8, 100), "impl-1", full_trial(onchip_config(8)));
  store.put_trial(softmax_key(8, 300, a100()), "impl-1", full_trial(onchip_config(4)));
  Trial hot = full_trial(onchip_config(4));
  hot.mode = MeasureMode::hot;
  store.put_trial(softmax_key(8, 400), "impl-1", hot);
  const auto tried = [&](const DeviceFacts& device, MeasureMode mode) {
    return store.problems_tried(key.interface_hash, device.fingerprint(), mode);
  };
  EXPECT_THAT(tried(h200(), MeasureMode::cold), testing::ElementsAre(softmax_problem(8, 200), softmax_problem(8, 100)));
  EXPECT_THAT(tried(a100(), MeasureMode::cold), testing::ElementsAre(softmax_problem(8, 300)));
  EXPECT_THAT(tried(h200(), MeasureMode::hot), testing::ElementsAre(softmax_problem(8, 400)));
  EXPECT_THAT(tried(h200(), MeasureMode::events), testing::IsEmpty());
  EXPECT_THAT(tried(emulator_facts(), MeasureMode::cold), testing::IsEmpty());
  EXPECT_THAT(store.problems_tried(gemm_interface().hash(), h200().fingerprint(), MeasureMode::cold),
              testing::IsEmpty());
  EXPECT_THAT(store.problems_tried("unknown", h200().fingerprint(), MeasureMode::cold), testing::IsEmpty());
}

TEST_F(StoreTrials, tell_the_versions_of_the_newest_one_of_a_device) {
  EXPECT_FALSE(store.newest_versions(h200().fingerprint()).has_value());
  // The newest was not put last.
  for (const int driver : {12'000, 13'010, 13'000}) {
    Trial trial = full_trial(onchip_config(4));
    trial.versions.driver = driver;
    trial.measured_at = driver;
    store.put_trial(key, "impl-1", trial);
  }
  Trial other = full_trial(onchip_config(4));
  other.versions.driver = 14'000;
  store.put_trial(softmax_key(8, 100, a100()), "impl-1", other);
  EXPECT_EQ(store.newest_versions(h200().fingerprint())->driver, 13'010);
  EXPECT_EQ(store.newest_versions(a100().fingerprint())->driver, 14'000);
  EXPECT_FALSE(store.newest_versions(gh200_slice().fingerprint()).has_value());
}

}  // namespace
}  // namespace tilewright::store_trials_test
