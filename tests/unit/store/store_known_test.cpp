// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/store/import.hpp"
#include "cache/store/store.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright::store_known_test {
namespace {

using namespace store_tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// The known times at a shape, besides its winner's.
std::vector<double> times_at(const Store& store, const ProblemKey& key) {
  std::vector<double> times;
  for (const ShapeSummary& shape : store.known_shapes(key, MeasureMode::cold, {{8, 64}})) {
    for (const ConfigSummary& known : shape.configs) {
      EXPECT_EQ(known.has_failed, !known.role && !known.was_timed());
      if (!known.role && !known.has_failed) times.push_back(known.median_ns);
    }
  }
  return times;
}

TEST(StoreKnown, a_time_counts_until_a_later_try_of_the_config_goes_wrong) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const ProblemKey key = softmax_key(8, 64);
  put_winner(store, key, onchip_config(8));
  const auto put = [&](TrialStatus status, double median_ns) {
    Trial trial = full_trial(onchip_config(4), median_ns);
    trial.build_key.clear();
    trial.sweep = 0;
    trial.status = status;
    if (status != TrialStatus::ok) {
      trial.timing.reset();
      trial.accuracy.reset();
    }
    store.put_trial(key, onchip().hash, trial);
  };
  EXPECT_THAT(times_at(store, key), IsEmpty());
  put(TrialStatus::ok, 1500);
  EXPECT_THAT(times_at(store, key), ElementsAre(1500));
  put(TrialStatus::wrong_result, 0);
  EXPECT_THAT(times_at(store, key), IsEmpty()) << "what computed wrongly serves no shape around";
  put(TrialStatus::ok, 1600);
  put(TrialStatus::pruned, 0);
  EXPECT_THAT(times_at(store, key), ElementsAre(1600)) << "that it was not tried once says nothing";
  put(TrialStatus::crashed, 0);
  EXPECT_THAT(times_at(store, key), IsEmpty());
}

TEST(StoreKnown, the_times_near_a_shape_are_those_of_the_winners_there_and_follow_them) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const auto put = [&](std::int64_t rows, double median_ns) {
    const ProblemKey key = softmax_key(rows, 64);
    const std::int64_t trial = store.put_trial(key, onchip().hash, full_trial(onchip_config(4), median_ns));
    store.put_winners(key, MeasureMode::cold, {winner_of(trial)});
  };
  const auto near = [](const WinnerSource& source, std::size_t most) {
    std::vector<std::pair<std::int64_t, double>> found;
    for (const TimedShape& each : source.times_near(softmax_key(9, 64), MeasureMode::cold, most)) {
      found.emplace_back(each.dims.front(), each.median_ns);
    }
    return found;
  };
  put(8, 1000);
  put(64, 3000);
  put(1024, 9000);
  using Times = std::vector<std::pair<std::int64_t, double>>;
  EXPECT_EQ(near(store, 2), (Times{{8, 1000}, {64, 3000}}));
  put(8, 900);
  EXPECT_EQ(near(store, 3), (Times{{8, 900}, {64, 3000}, {1024, 9000}}));
  EXPECT_THAT(store.times_near(softmax_key(9, 64), MeasureMode::hot, 3), IsEmpty());
  // Of any source, by its winners.
  std::vector<double> by_winners;
  for (const TimedShape& each : store.WinnerSource::times_near(softmax_key(9, 64), MeasureMode::cold, 3)) {
    by_winners.push_back(each.median_ns);
  }
  EXPECT_THAT(by_winners, ElementsAre(900, 3000, 9000));
}

TEST(StoreKnown, a_spare_that_was_timed_before_its_binary_was_kept_has_both) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const ProblemKey key = softmax_key(8, 64);
  put_winner(store, key, onchip_config(8));
  Trial timed = full_trial(onchip_config(4), 1500);
  const std::string build = "of the spare";
  store.put_build(
      {.key = build, .ok = true, .binary_hash = {}, .kernels = {}, .log = {}, .compiler = {}, .arch = "sm_90a"},
      std::vector<std::byte>(500, std::byte{42}));
  timed.sweep = 0;
  timed.build_key.clear();
  store.put_trial(key, onchip().hash, timed);
  EXPECT_EQ(store.timed(key, MeasureMode::cold, {onchip().hash, timed.config})->winner.trial.build_key, "");
  store.put_spare(key, MeasureMode::cold, {onchip().hash, timed.config}, build);
  const Trial read = store.timed(key, MeasureMode::cold, {onchip().hash, timed.config})->winner.trial;
  EXPECT_EQ(read.timing.value_or(Timing{}).median_ns, 1500);
  EXPECT_EQ(read.build_key, build);
  const auto known = store.known_shapes(key, MeasureMode::cold, {{8, 64}});
  const ConfigSummary& spare = known.at(0).configs.at(1);
  EXPECT_TRUE(spare.is_spare && spare.has_binary && spare.was_timed());

  Store to(folder / "copy.db");
  (void)import_winners(store, to);
  const Trial copied = to.timed(key, MeasureMode::cold, {onchip().hash, timed.config})->winner.trial;
  EXPECT_EQ(copied.timing.value_or(Timing{}).median_ns, 1500);
  EXPECT_EQ(copied.build_key, build);
}

TEST(StoreKnown, a_spare_of_what_failed_in_another_spec_is_none_until_it_was_right_there_and_times_stay) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const ProblemKey key = softmax_key(8, 64), elsewhere = softmax_key(16, 64, h200(), DType::f32);
  put_winner(store, key, onchip_config(8));
  const Config timed = onchip_config(4), untimed = onchip_config(2);
  const std::string build = "of the spares";
  store.put_build(
      {.key = build, .ok = true, .binary_hash = {}, .kernels = {}, .log = {}, .compiler = {}, .arch = "sm_90a"},
      std::vector<std::byte>(500, std::byte{42}));
  const auto put = [&](const ProblemKey& at, const Config& config, TrialStatus status, double median_ns) {
    Trial trial = full_trial(config, median_ns);
    trial.status = status;
    if (median_ns == 0) trial.timing.reset();
    trial.sweep = 0;
    trial.build_key.clear();
    store.put_trial(at, onchip().hash, trial);
  };
  put(key, timed, TrialStatus::ok, 1500);
  for (const Config& config : {timed, untimed}) {
    store.put_spare(key, MeasureMode::cold, {onchip().hash, config}, build);
  }
  const auto beside_winner = [&] {
    std::vector<ConfigSummary> configs = store.known_shapes(key, MeasureMode::cold, {{8, 64}}).at(0).configs;
    std::erase_if(configs, [](const ConfigSummary& each) { return each.role.has_value(); });
    return configs;
  };
  ASSERT_THAT(beside_winner(), testing::SizeIs(2));
  for (const ConfigSummary& each : beside_winner()) EXPECT_TRUE(each.is_spare && each.has_binary);
  for (const Config& config : {timed, untimed}) put(elsewhere, config, TrialStatus::wrong_result, 0);
  EXPECT_EQ(store.failed_configs(key, MeasureMode::cold),
            (ConfigIds{{onchip().hash, timed}, {onchip().hash, untimed}}));
  EXPECT_THAT(store.failed_configs(key, MeasureMode::hot), IsEmpty());
  ASSERT_THAT(beside_winner(), testing::SizeIs(1));
  EXPECT_EQ(beside_winner().at(0).id.config, timed);
  EXPECT_EQ(beside_winner().at(0).median_ns, 1500);
  EXPECT_FALSE(beside_winner().at(0).is_spare || beside_winner().at(0).has_binary || beside_winner().at(0).has_failed);
  for (const Config& config : {timed, untimed}) put(elsewhere, config, TrialStatus::ok, 900);
  EXPECT_THAT(store.failed_configs(key, MeasureMode::cold), IsEmpty());
  ASSERT_THAT(beside_winner(), testing::SizeIs(2));
  for (const ConfigSummary& each : beside_winner()) EXPECT_TRUE(each.is_spare && each.has_binary);
}

}  // namespace
}  // namespace tilewright::store_known_test
