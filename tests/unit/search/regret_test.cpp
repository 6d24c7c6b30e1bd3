// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/regret.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/launch/sample_cache.hpp"
#include "tuner/search/learn.hpp"

namespace tilewright {
namespace {

using namespace tilewright::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kNarrow = "wide{num_warps=2,vec=4,static_dims=0}";
constexpr const char* kBroad = "wide{num_warps=8,vec=4,static_dims=0}";

class RegretTest : public ::testing::Test {
 protected:
  RegretTest() : cache_(folder_.path() / "cache.db") {
    cache_.add_op(interface_, scale_wide(), scale_kernels(), scale_binary());
    cache_.add_op(interface_, scale_plain(), scale_kernels(), scale_binary());
  }

  static std::string problem(std::int64_t rows, std::int64_t cols) {
    return "scale[dtype=f16]{rows=" + std::to_string(rows) + ",cols=" + std::to_string(cols) + "}";
  }
  /// A tuned shape; `other_ns` of the config that did not win, 0: it was not tried.
  void tune(std::int64_t rows, std::int64_t cols, const char* winner, double other_ns) {
    cache_.add_winner(interface_, problem(rows, cols), winner, {.role = WinnerRole::best, .median_ns = 100});
    if (other_ns <= 0) return;
    // What lost is a trial like the winner's.
    const ProblemKey key{parse_problem(problem(rows, cols), interface_), interface_.hash(),
                         recording_device().fingerprint()};
    const WinnerRow row = *cache_.store().winner_of(key, MeasureMode::cold, WinnerRole::best);
    Trial lost = row.winner.trial;
    lost.config = Config::parse(winner == kNarrow ? kBroad : kNarrow);
    lost.timing->median_ns = other_ns;
    cache_.store().put_trial(key, row.implementation_hash, lost);
  }
  std::vector<Regret> ask(LeftOut left_out = LeftOut::relatives) {
    const OpSpec spec = parse_problem(problem(1, 4), interface_).spec;
    return regrets(cache_.store(), interface_, spec, recording_device(), MeasureMode::cold, {.left_out = left_out});
  }

  const OpInterface interface_ = scale_interface();
  TemporaryFolder folder_;
  SampleCache cache_;
};

TEST_F(RegretTest, a_shape_is_served_by_others_and_compared_with_its_winner) {
  tune(8, 64, kNarrow, 130);
  tune(16, 128, kNarrow, 120);
  tune(4096, 8192, kBroad, 150);
  const std::vector<Regret> found = ask();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_DOUBLE_EQ(found[0].loss().value(), 0);
  EXPECT_EQ(found[0].tuned_for->key(), parse_problem(problem(16, 128), interface_).key());
  EXPECT_EQ(found[2].served->text(), kNarrow);
  EXPECT_EQ(found[2].match.fit, Fit::nearest);
  EXPECT_DOUBLE_EQ(found[2].loss().value(), 0.5);
}

TEST_F(RegretTest, with_a_shape_all_that_share_a_dim_are_left_out) {
  tune(8, 64, kNarrow, 130);
  tune(8, 128, kNarrow, 130);
  tune(4096, 128, kBroad, 200);
  EXPECT_DOUBLE_EQ(ask()[0].loss().value(), 0.3) << "served by the only one that shares nothing with it";
  EXPECT_DOUBLE_EQ(ask(LeftOut::itself)[0].loss().value(), 0);
  const Regret middle = ask()[1];
  EXPECT_FALSE(middle.served.has_value()) << "nothing is left for it";
  EXPECT_FALSE(middle.loss().has_value());
}

TEST_F(RegretTest, what_was_never_timed_is_not_guessed) {
  tune(8, 64, kNarrow, 0);
  tune(4096, 8192, kBroad, 0);
  const std::vector<Regret> found = ask();
  EXPECT_EQ(found[0].served->text(), kBroad);
  EXPECT_FALSE(found[0].loss().has_value());
  const RegretSummary summary = summarise_regrets(found);
  EXPECT_EQ(summary.untimed, 2U);
  EXPECT_FALSE(summary.worst_at.has_value());
}

TEST_F(RegretTest, a_shape_that_is_not_tuned_is_served_by_all_and_compared_with_the_winner_of_another_cache) {
  tune(8, 64, kNarrow, 130);
  tune(4096, 8192, kBroad, 150);
  TemporaryFolder other_folder;
  SampleCache other(other_folder.path() / "cache.db");
  other.add_op(interface_, scale_wide(), scale_kernels(), scale_binary());
  other.add_winner(interface_, problem(4096, 64), kBroad, {.role = WinnerRole::best, .median_ns = 70});
  other.add_winner(interface_, problem(9, 64), kNarrow, {.role = WinnerRole::best, .median_ns = 80});
  const OpSpec spec = parse_problem(problem(1, 4), interface_).spec;
  RegretSetting setting{.judged = {{9, 64}, {4096, 64}, {8, 64}, {10, 64}}, .truth = &other.store()};
  const std::vector<Regret> found =
      regrets(cache_.store(), interface_, spec, recording_device(), MeasureMode::cold, setting);
  ASSERT_EQ(found.size(), 3U) << "of rows=10 nobody knows the winner";
  EXPECT_FALSE(found[0].is_tuned);
  EXPECT_EQ(found[0].served->text(), kNarrow) << "by its relative, which is not left out";
  EXPECT_DOUBLE_EQ(found[0].loss().value(), 0) << "the winner serves";
  EXPECT_DOUBLE_EQ(found[1].best_ns, 70);
  EXPECT_FALSE(found[1].is_tuned);
  EXPECT_TRUE(found[2].is_tuned);
  EXPECT_EQ(found[2].served->text(), kBroad) << "it was left out";
  setting.truth = nullptr;
  EXPECT_EQ(regrets(cache_.store(), interface_, spec, recording_device(), MeasureMode::cold, setting).size(), 1U);
}

TEST_F(RegretTest, a_shape_that_is_not_tuned_and_loses_is_the_one_to_tune) {
  tune(8, 64, kNarrow, 130);
  Regret regret;
  regret.problem = parse_problem(problem(100, 100), interface_);
  regret.is_tuned = false;
  regret.best_ns = 100;
  regret.served_ns = 150;
  regret.tuned_for = parse_problem(problem(8, 64), interface_);
  EXPECT_THAT(shapes_to_tune({regret}, 0.03, 8), ElementsAre(regret.problem));
}

TEST_F(RegretTest, what_failed_where_it_would_serve_is_counted_by_itself) {
  Regret regret;
  regret.problem = parse_problem(problem(100, 100), interface_);
  regret.served = Config::parse(kNarrow);
  regret.failure = "wrong_result: y[0]";
  const RegretSummary summary = summarise_regrets({regret});
  EXPECT_EQ(summary.failed, 1U);
  EXPECT_EQ(summary.untimed, 0U);
}

TEST_F(RegretTest, losses_are_summed_up_and_told_by_region) {
  tune(8, 64, kNarrow, 130);
  tune(15, 128, kNarrow, 120);
  tune(4096, 8192, kBroad, 150);
  const std::vector<Regret> found = ask();
  const RegretSummary summary = summarise_regrets(found);
  EXPECT_EQ(summary.shapes, 3U);
  EXPECT_NEAR(summary.mean, 0.5 / 3, 1e-9);
  EXPECT_DOUBLE_EQ(summary.p95, 0.5);
  EXPECT_EQ(summary.worst_at, found[2].problem);
  const std::vector<Region> regions = by_region(found);
  ASSERT_EQ(regions.size(), 2U);
  EXPECT_EQ(regions[0].text, "rows 1..15, cols 16..255");
  EXPECT_EQ(regions[0].regrets.size(), 2U);
  EXPECT_EQ(regions[1].text, "rows 4096..65535, cols 4096..65535");
}

TEST_F(RegretTest, the_shape_to_tune_next_lies_between_a_loser_and_who_served_it) {
  tune(8, 64, kNarrow, 130);
  tune(16, 128, kNarrow, 120);
  tune(4096, 8192, kBroad, 150);
  const std::vector<Problem> next = shapes_to_tune(ask(), 0.03, 8);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].key(), parse_problem(problem(256, 1024), interface_).key());
  EXPECT_THAT(shapes_to_tune(ask(), 0.6, 8), IsEmpty());
  EXPECT_THAT(shapes_to_tune(ask(), 0.03, 0), IsEmpty());
}

/// Shapes of 128 rows and a multiple of 64 columns. Everywhere many warps are best, but at kOdd few are.
class LearnedRegretTest : public RegretTest {
 protected:
  static constexpr std::int64_t kOdd = 64 * 10;
  static bool has_few_warps(const Config& config) { return config.value_or("num_warps", 0) <= 4; }

  void tune_columns(std::int64_t count, bool has_static_winners = false) {
    Store::Batch batch(cache_.store());
    for (std::int64_t i = 1; i <= count; ++i) tune_all(64 * i, has_static_winners);
    batch.commit();
  }
  /// 42 configs: of either kind enough for a leaf of a tree.
  void tune_all(std::int64_t cols, bool has_static_winner) {
    cache_.add_winner(
        interface_, problem(128, cols),
        fmt::format("wide{{num_warps={},vec=4,static_dims={}}}", cols == kOdd ? 1 : 32, has_static_winner ? 1 : 0),
        {.median_ns = 1000});
    const ProblemKey key = key_of(cols);
    const WinnerRow row = *cache_.store().winner_of(key, MeasureMode::cold, WinnerRole::best);
    for (const int num_warps : {1, 2, 4, 8, 16, 32}) {
      for (const int vec : {1, 2, 4, 8, 16, 32, 64}) {
        Trial trial = row.winner.trial;
        trial.config = Config::parse(fmt::format("wide{{num_warps={},vec={},static_dims=0}}", num_warps, vec));
        if (trial.config == row.winner.trial.config) continue;
        const bool is_good = has_few_warps(trial.config) == (cols == kOdd);
        trial.timing->median_ns = is_good ? 1010 + num_warps + vec : 1700;
        cache_.store().put_trial(key, row.implementation_hash, trial);
      }
    }
  }
  [[nodiscard]] ProblemKey key_of(std::int64_t cols) const {
    return {parse_problem(problem(128, cols), interface_), interface_.hash(), recording_device().fingerprint()};
  }
  void learn_all() {
    const auto model = learn(cache_.store(), interface_, recording_device(), MeasureMode::cold);
    ASSERT_TRUE(model.has_value());
    cache_.store().put_loss_model(key_of(64), MeasureMode::cold, *model);
  }
  [[nodiscard]] std::vector<Regret> ask(const RegretSetting& setting) {
    return regrets(cache_.store(), interface_, key_of(64).problem.spec, recording_device(), MeasureMode::cold, setting);
  }
  /// What would be served to a shape in the whole cache, had it no winner of its own.
  [[nodiscard]] bool would_get_few_warps(std::int64_t cols) {
    const Regret asked =
        ask({.left_out = LeftOut::itself, .servers = Servers::compiled, .judged = {{128, cols}}}).at(0);
    return has_few_warps(*asked.served);
  }
};

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
  // Not all 24: each part of these is a lesson of its own.
  const std::vector<Regret> found =
      ask({.left_out = LeftOut::itself,
           .servers = Servers::compiled,
           .judged = {{128, 64 * 2}, {128, 64 * 5}, {128, 64 * 9}, {128, kOdd}, {128, 64 * 16}, {128, 64 * 22}}});
  ASSERT_EQ(found.size(), 6U);
  for (const Regret& regret : found) {
    const std::int64_t cols = regret.problem.dim("cols");
    ASSERT_TRUE(regret.loss().has_value()) << cols;
    EXPECT_EQ(regret.match.fit, Fit::nearest) << cols;
    // Its neighbours may be taken in by it.
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
  spare.config = Config::parse("wide{num_warps=16,vec=8,static_dims=0}");
  cache_.store().put_trial(key_of(cols), row.implementation_hash, spare_mark(spare));
  const Regret served = ask(setting).at(0);
  EXPECT_EQ(served.match.fit, Fit::nearest);
  EXPECT_EQ(served.served.value_or(Config()), spare.config);
  EXPECT_NEAR(served.loss().value_or(0), 0.034, 1e-9) << "what it took there";
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
    if (is_spare) cache_.store().put_trial(key_of(at), row.implementation_hash, spare_mark(trial));
  };
  const RegretSetting setting{.left_out = LeftOut::itself, .exported = true, .judged = {{128, cols}}};
  put(cols, 50, true);
  EXPECT_NE(ask(setting).at(0).match.fit, Fit::nearest) << "nobody would have kept it";
  put(64 * 20, 50, false);
  const Regret served = ask(setting).at(0);
  EXPECT_EQ(served.served.value_or(Config()).text(), "wide{num_warps=12,vec=8,static_dims=0}");
  EXPECT_EQ(served.tuned_for.value_or(Problem()).dim("cols"), 64 * 20) << "it would be kept for that shape";
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
  // Others are out of the way: they went wrong somewhere.
  const auto known = cache_.store().known_shapes(key_of(64), MeasureMode::cold, {{128, 64}});
  for (const KnownConfig& each : known.at(0).configs) {
    if (!each.role) put(64, each.config.text(), 0);
  }
  const std::int64_t cols = 64 * 5;
  const std::string config = "wide{num_warps=12,vec=8,static_dims=0}";
  cache_.add_winner(interface_, problem(128, cols), config, {.role = WinnerRole::dynamic, .median_ns = 1005});
  put(64 * 20, config, 1005);
  const RegretSetting setting{.left_out = LeftOut::itself, .exported = true, .judged = {{128, cols}}};
  const Regret served = ask(setting).at(0);
  EXPECT_EQ(served.served.value_or(Config()).text(), config);
  EXPECT_EQ(served.tuned_for.value_or(Problem()).dim("cols"), 64 * 20);
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
  cache_.store().put_trial(key_of(cols), row.implementation_hash, spare_mark(spare));
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
}  // namespace tilewright
