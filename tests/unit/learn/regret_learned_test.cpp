// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/regret.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/unit/learn/regret_fixture.hpp"

namespace tilewright::regret_learned_test {
namespace {

using namespace tilewright::testing;

TEST_F(LearnedRegretTest, a_shape_is_judged_by_what_was_learned_without_it) {
  tune_columns(24);
  learn_all();
  const auto learned = cache_.store().learned(key_of(kOdd), MeasureMode::cold);
  const std::string hash = learned->model->space().implementations.front();
  const auto expected = [&](const char* config) {
    return learned->model->loss(*learned->model->space().of(interface_, hash, scale_wide(), Config::parse(config),
                                                            key_of(kOdd).problem, recording_device()));
  };
  ASSERT_LT(expected("wide{num_warps=1,vec=4,static_dims=0}"), expected("wide{num_warps=32,vec=4,static_dims=0}") - 0.1)
      << "who has learned of the shape knows how odd it is, and would serve it well";
  // Only some of the 24 shapes, since each fold needs its own model.
  const std::vector<Regret> found =
      ask({.left_out = LeftOut::itself,
           .servers = Servers::compiled,
           .judged = {{128, 64 * 2}, {128, 64 * 5}, {128, 64 * 9}, {128, kOdd}, {128, 64 * 16}, {128, 64 * 22}}});
  ASSERT_EQ(found.size(), 6U);
  for (const Regret& regret : found) {
    const std::int64_t cols = regret.problem.dim("cols");
    ASSERT_TRUE(regret.loss().has_value()) << cols;
    EXPECT_EQ(regret.match.fit, Fit::nearest) << cols;
    // Neighbours of kOdd may be misled by it.
    if (std::abs(cols - kOdd) == 64) continue;
    EXPECT_FALSE(has_few_warps(*regret.served)) << cols;
    if (cols == kOdd) {
      EXPECT_DOUBLE_EQ(*regret.loss(), 0.7) << "nobody else tells of it";
    } else {
      EXPECT_LT(*regret.loss(), 0.12) << cols;
    }
  }
}

TEST_F(LearnedRegretTest, a_shape_alone_is_judged_without_its_own_times_too) {
  tune_columns(24);
  learn_all();
  EXPECT_FALSE(would_get_few_warps(kOdd));
}

TEST_F(LearnedRegretTest, a_shape_that_is_not_tuned_is_judged_by_all_that_was_learned) {
  tune_columns(24);
  learn_all();
  TemporaryFolder other_folder;
  SampleCache truth(other_folder.path() / "cache.db");
  truth.add_op(interface_, scale_wide(), scale_kernels(), scale_binary());
  const std::vector<std::int64_t> beside{128, kOdd + 16};
  truth.add_winner(interface_, problem(beside[0], beside[1]), kNarrow, {.median_ns = 70});
  const std::vector<Regret> found = ask({.servers = Servers::compiled, .judged = {beside}, .truth = &truth.store()});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].is_tuned);
  EXPECT_TRUE(has_few_warps(*found[0].served)) << "the odd one's times tell of its neighbours";
}

TEST_F(LearnedRegretTest, where_too_little_is_left_to_learn_of_the_nearest_speak) {
  tune_columns(static_cast<std::int64_t>(kFewestShapesToLearn));
  learn_all();
  const std::vector<Regret> found = ask({.left_out = LeftOut::itself, .servers = Servers::compiled});
  ASSERT_EQ(found.size(), kFewestShapesToLearn);
  for (const Regret& regret : found) EXPECT_EQ(regret.match.fit, Fit::nearest) << regret.problem.key();
}

TEST_F(LearnedRegretTest, a_spare_serves_the_shape_that_it_is_kept_at_too) {
  tune_columns(24, true);
  learn_all();
  const std::int64_t cols = 64 * 5;
  RegretSetting setting{.left_out = LeftOut::itself, .exported = true, .judged = {{128, cols}}};
  EXPECT_NE(ask(setting).at(0).match.fit, Fit::nearest) << "binaries of other shapes' dims";
  const WinnerRow row = *cache_.store().winner_of(key_of(cols), MeasureMode::cold, WinnerRole::best);
  Trial spare = row.winner.trial;
  spare.config = Config::parse("wide{num_warps=16,vec=64,static_dims=0}");  // not nearly the best anywhere
  cache_.store().put_spare(key_of(cols), MeasureMode::cold, {row.implementation_hash, spare.config}, spare.build_key);
  const Regret served = ask(setting).at(0);
  EXPECT_EQ(served.match.fit, Fit::nearest);
  EXPECT_EQ(served.served.value_or(Config()), spare.config);
  EXPECT_NEAR(served.loss().value_or(0), 0.09, 1e-9) << "what it took there";
  EXPECT_EQ(served.tuned_for.value_or(Problem()).dim("cols"), cols + 64) << "the nearest shape that is left";

  setting.only_from = [](const std::vector<std::int64_t>& shape) { return shape[1] > 64 * 20; };
  EXPECT_NE(ask(setting).at(0).match.fit, Fit::nearest) << "not one of those that are to serve";
}

TEST_F(LearnedRegretTest, a_spare_that_is_kept_since_it_was_nearly_the_best_of_a_shape_does_not_serve_that) {
  tune_columns(24, true);
  learn_all();
  const std::int64_t cols = 64 * 5;
  const auto put = [&](std::int64_t at, double median_ns, bool is_spare) {
    const WinnerRow row = *cache_.store().winner_of(key_of(at), MeasureMode::cold, WinnerRole::best);
    Trial trial = row.winner.trial;
    trial.config = Config::parse("wide{num_warps=12,vec=8,static_dims=0}");
    trial.timing->median_ns = median_ns;
    cache_.store().put_trial(key_of(at), row.implementation_hash, trial);
    const ConfigId id{row.implementation_hash, trial.config};
    if (is_spare) cache_.store().put_spare(key_of(at), MeasureMode::cold, id, trial.build_key);
  };
  const RegretSetting setting{.left_out = LeftOut::itself, .exported = true, .judged = {{128, cols}}};
  put(cols, 50, true);
  EXPECT_NE(ask(setting).at(0).match.fit, Fit::nearest) << "nobody would have kept it";
  put(64 * 20, 50, false);
  const Regret served = ask(setting).at(0);
  EXPECT_EQ(served.served.value_or(Config()).text(), "wide{num_warps=12,vec=8,static_dims=0}");
  EXPECT_EQ(served.tuned_for.value_or(Problem()).dim("cols"), 64 * 20) << "it would be kept for that shape";
  put(cols, 1060, true);
  EXPECT_EQ(ask(setting).at(0).tuned_for.value_or(Problem()).dim("cols"), 64 * 20)
      << "also where it was more nearly the best elsewhere since";
}

TEST_F(LearnedRegretTest, a_winner_serves_as_what_was_nearly_the_best_elsewhere_where_all_such_are_kept) {
  tune_columns(24, true);
  learn_all();
  const std::string hash =
      cache_.store().winner_of(key_of(64), MeasureMode::cold, WinnerRole::best)->implementation_hash;
  const auto put = [&](std::int64_t at, const std::string& config, double median_ns) {
    Trial trial = cache_.store().winner_of(key_of(at), MeasureMode::cold, WinnerRole::best)->winner.trial;
    trial.config = Config::parse(config);
    trial.timing->median_ns = median_ns;
    if (median_ns <= 0) {
      trial.status = TrialStatus::crashed;
      trial.timing.reset();
      trial.accuracy.reset();
    }
    cache_.store().put_trial(key_of(at), hash, trial);
  };
  // The other configs failed somewhere and cannot serve.
  const auto known = cache_.store().known_shapes(key_of(64), MeasureMode::cold, {{128, 64}});
  for (const ConfigSummary& each : known.at(0).configs) {
    if (!each.role) put(64, each.id.config.text(), 0);
  }
  const std::int64_t cols = 64 * 5;
  const std::string config = "wide{num_warps=12,vec=8,static_dims=0}";
  cache_.add_winner(interface_, problem(128, cols), config, {.role = WinnerRole::dynamic, .median_ns = 1005});
  put(64 * 20, config, 1005);
  const RegretSetting setting{.left_out = LeftOut::itself, .exported = true, .judged = {{128, cols}}};
  const Regret served = ask(setting).at(0);
  EXPECT_EQ(served.served.value_or(Config()).text(), config);
  EXPECT_EQ(served.tuned_for.value_or(Problem()).dim("cols"), 64 * 20);
  // A config of an older source cannot be kept.
  Trial older = cache_.store().winner_of(key_of(64 * 22), MeasureMode::cold, WinnerRole::best)->winner.trial;
  older.config = Config::parse("wide{num_warps=16,vec=64,static_dims=0}");
  older.timing->median_ns = 1000;
  older.measured_at = 1;
  cache_.store().put_implementation(interface_.hash(), {"older hash", scale_wide()});
  cache_.store().put_trial(key_of(64 * 22), "older hash", older);
  EXPECT_EQ(ask(setting).at(0).served.value_or(Config()).text(), config);
  put(64 * 22, "wide{num_warps=16,vec=128,static_dims=0}", 1000);
  EXPECT_NE(ask(setting).at(0).match.fit, Fit::nearest) << "not all such are kept";
}

TEST_F(LearnedRegretTest, a_spare_that_nobody_timed_serves_too) {
  tune_columns(24, true);
  learn_all();
  const std::int64_t cols = 64 * 5;
  const WinnerRow row = *cache_.store().winner_of(key_of(cols), MeasureMode::cold, WinnerRole::best);
  Trial spare = row.winner.trial;
  spare.config = Config::parse("wide{num_warps=12,vec=8,static_dims=0}");
  spare.timing.reset();
  cache_.store().put_spare(key_of(cols), MeasureMode::cold, {row.implementation_hash, spare.config}, spare.build_key);
  const Regret served = ask({.left_out = LeftOut::itself, .exported = true, .judged = {{128, cols}}}).at(0);
  EXPECT_EQ(served.match.fit, Fit::nearest);
  EXPECT_EQ(served.served.value_or(Config()), spare.config);
  EXPECT_FALSE(served.loss().has_value());
}

TEST_F(LearnedRegretTest, only_those_serve_that_are_left) {
  tune_columns(24);
  learn_all();
  const RegretSetting setting{.only_from = [](const std::vector<std::int64_t>& shape) { return shape[1] <= 64 * 20; }};
  const std::vector<Regret> found = ask(setting);
  ASSERT_EQ(found.size(), 4U);
  for (const Regret& regret : found) {
    ASSERT_TRUE(regret.tuned_for.has_value());
    EXPECT_LE(regret.tuned_for->dim("cols"), 64 * 20);
    EXPECT_EQ(regret.served->text(), "wide{num_warps=32,vec=4,static_dims=0}") << "the only winner but the odd one's";
  }
}

}  // namespace
}  // namespace tilewright::regret_learned_test
