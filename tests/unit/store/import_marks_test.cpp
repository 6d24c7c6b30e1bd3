// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "cache/store/import.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright::import_marks_test {
namespace {

using namespace store_tests;

/// The effect of imported spares on the target's known configs.
class ImportedMarks : public testing::Test {
 protected:
  ImportedMarks() : from(prepared_store(folder / "from.db")), to(prepared_store(folder / "to.db")) {
    put_server(from, key, onchip_config(4));
    // A spare that was timed, and one that was not.
    const Trial trial = built_trial(from, timed);
    from.put_trial(key, "impl-1", trial);
    from.put_spare(key, MeasureMode::cold, {"impl-1", timed}, trial.build_key);
    put_spare(from, key, untimed);
  }

  static ConfigSummary known(const Store& store, const ProblemKey& key, const Config& config) {
    const auto shapes = store.known_shapes(key, MeasureMode::cold, {shape_of(key.problem)});
    for (const ConfigSummary& each : shapes.at(0).configs) {
      if (each.id.config == config) return each;
    }
    ADD_FAILURE() << "nobody knows " << config.text();
    return {};
  }
  static bool knows(const Store& store, const ProblemKey& key, const Config& config) {
    const auto shapes = store.known_shapes(key, MeasureMode::cold, {shape_of(key.problem)});
    return std::ranges::any_of(shapes.at(0).configs,
                               [&](const ConfigSummary& each) { return each.id.config == config; });
  }
  /// The newest trial of a config.
  static Trial newest(const Store& store, const ProblemKey& key, const Config& config) {
    for (const Trial& trial : store.trials(key, {"impl-1"}, MeasureMode::cold)) {
      if (trial.config == config) return trial;
    }
    ADD_FAILURE() << "nobody has tried " << config.text();
    return {};
  }

  TemporaryFolder folder;
  Store from, to;
  const ProblemKey key = softmax_key(8, 100);
  const Config timed = onchip_config(2, 0), untimed = onchip_config(1, 0);
};

TEST_F(ImportedMarks, leave_a_time_of_other_versions_what_speaks_for_its_config) {
  for (const Config& config : {timed, untimed}) {
    Trial own = full_trial(config, 77);
    own.versions.driver = 12080;
    to.put_trial(key, "impl-1", own);
  }
  import_winners(from, to);
  for (const Config& config : {timed, untimed}) {
    const Trial trial = newest(to, key, config);
    EXPECT_EQ(trial.status, TrialStatus::ok) << "no sweep need measure it again: " << config.text();
    EXPECT_EQ(trial.versions.driver, 12080);
    const auto row = to.timed(key, MeasureMode::cold, {"impl-1", config});
    ASSERT_TRUE(row.has_value() && row->winner.trial.timing.has_value()) << config.text();
    EXPECT_EQ(row->winner.trial.timing->median_ns, 77);
    EXPECT_EQ(row->winner.trial.build_key, "build of " + config.text()) << "which came with the spare";
    EXPECT_TRUE(known(to, key, config).is_spare);
  }
}

TEST_F(ImportedMarks, leave_a_failure_what_it_is_however_often_they_come) {
  Trial failed = wrong_trial(timed);
  failed.versions.driver = 12080;
  to.put_trial(key, "impl-1", failed);
  import_winners(from, to);
  const auto trials = to.counts().trials;
  import_winners(from, to);
  EXPECT_EQ(to.counts().trials, trials) << "no mark more each time";
  EXPECT_EQ(newest(to, key, timed).status, TrialStatus::wrong_result);
  EXPECT_TRUE(known(to, key, timed).has_failed);
  EXPECT_TRUE(known(to, key, untimed).is_spare);
}

TEST_F(ImportedMarks, are_not_of_what_failed_in_another_spec_where_they_come_from) {
  from.put_trial(softmax_key(8, 100, h200(), DType::f32), "impl-1", wrong_trial(untimed));
  import_winners(from, to);
  EXPECT_TRUE(known(to, key, timed).is_spare);
  EXPECT_FALSE(knows(to, key, untimed));
}

TEST_F(ImportedMarks, are_not_of_what_failed_in_another_spec_where_they_go_and_times_come_without_their_binaries) {
  for (const Config& config : {timed, untimed}) {
    to.put_trial(softmax_key(8, 100, h200(), DType::f32), "impl-1", wrong_trial(config));
  }
  import_winners(from, to);
  EXPECT_FALSE(known(to, key, timed).is_spare);
  EXPECT_FALSE(known(to, key, timed).has_binary);
  EXPECT_EQ(known(to, key, timed).median_ns, 1000);
  const auto trials = to.counts().trials;
  import_winners(from, to);
  EXPECT_EQ(to.counts().trials, trials) << "no mark more each time";
  EXPECT_FALSE(knows(to, key, untimed));
}

TEST_F(ImportedMarks, are_not_of_what_failed_where_they_come_from) {
  const ProblemKey other = softmax_key(16, 200);
  put_server(from, other, onchip_config(8));
  Trial failed = wrong_trial(untimed);
  from.put_trial(other, "impl-1", failed);
  failed.config = timed;
  failed.versions.driver = 12080;
  from.put_trial(key, "impl-1", failed);
  import_winners(from, to);
  const auto shapes = to.known_shapes(key, MeasureMode::cold, {{8, 100}, {16, 200}});
  for (const ShapeSummary& shape : shapes) {
    for (const ConfigSummary& each : shape.configs) EXPECT_FALSE(each.is_spare) << each.id.config.text();
  }
}

}  // namespace
}  // namespace tilewright::import_marks_test
