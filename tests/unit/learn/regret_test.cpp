// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/regret.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/learn/regret_fixture.hpp"

namespace tilewright::regret_test {
namespace {

using namespace tilewright::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST_F(RegretTest, a_shape_that_one_spec_has_tuned_may_be_the_one_to_tune_for_another) {
  Regret tuned;
  tuned.problem = parse_problem(problem(100, 100), interface_);
  Regret loser;
  loser.problem = tuned.problem;
  loser.problem.spec.dtype = DType::f32;
  loser.is_tuned = false;
  loser.best_ns = 100;
  loser.served_ns = 150;
  loser.tuned_for = loser.problem;
  EXPECT_THAT(shapes_to_tune({tuned, loser}, 0.03, 8), ElementsAre(loser.problem));
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

TEST_F(RegretTest, what_cannot_be_read_is_an_error_and_no_loss) {
  tune(8, 64, "wide{num_warps=2,vec=4,static_dims=1}", 0);
  cache_.add_winner(interface_, problem(8, 64), kNarrow, {.role = WinnerRole::dynamic, .median_ns = 110});
  tune(16, 128, kNarrow, 120);
  tune(4096, 8192, kBroad, 150);  // this one serves instead
  EXPECT_EQ(ask().at(1).served.value_or(Config()).text(), kNarrow);
  const ProblemKey key{parse_problem(problem(8, 64), interface_), interface_.hash(), recording_device().fingerprint()};
  std::vector<Winner> winners = cache_.store().winners(key, MeasureMode::cold);
  ASSERT_EQ(winners.at(1).role, WinnerRole::dynamic);
  winners[1].runner_up = Config{"no config", {}};
  cache_.store().put_winners(key, MeasureMode::cold, winners);
  try {
    static_cast<void>(ask());
    FAIL() << "who gives way here would be told of as a loss";
  } catch (const CacheError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot compute the loss of scale[dtype=f16"));
  }
}

}  // namespace
}  // namespace tilewright::regret_test
