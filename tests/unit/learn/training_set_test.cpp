// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/training_set.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launch/sample_cache.hpp"
#include "tuner/learn/learn.hpp"

namespace tilewright::training_set_test {
namespace {

using namespace tilewright::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A cache with two specs: 20 shapes of fp16, each tried with 16 configs, and one shape of fp32.
class LessonsTest : public ::testing::Test {
 protected:
  LessonsTest() {
    cache_.add_op(interface_, scale_wide(), scale_kernels(), scale_binary());
    for (std::int64_t i = 1; i <= 20; ++i) tune(fmt::format("scale[dtype=f16]{{rows={},cols={}}}", 8 * i, 64 * i));
    tune("scale[dtype=f32]{rows=8,cols=640}");
  }
  void tune(const std::string& problem) {
    cache_.add_winner(interface_, problem, "wide{num_warps=1,vec=1,static_dims=0}", {.median_ns = 1000});
    const ProblemKey key{parse_problem(problem, interface_), interface_.hash(), device_.fingerprint()};
    const WinnerRow row = *cache_.store().winner_of(key, MeasureMode::cold, WinnerRole::best);
    for (int i = 1; i < 16; ++i) {
      Trial trial = row.winner.trial;
      trial.config =
          Config::parse(fmt::format("wide{{num_warps={},vec={},static_dims=0}}", 1 << (i % 4), 1 << (i / 4)));
      trial.timing->median_ns = 1000 + 10 * i;
      cache_.store().put_trial(key, row.implementation_hash, trial);
    }
  }
  [[nodiscard]] ProblemKey key() const {
    return {parse_problem("scale[dtype=f16]{rows=1,cols=1}", interface_), interface_.hash(), device_.fingerprint()};
  }
  [[nodiscard]] TrainingSet training_set() {
    return {cache_.store(), interface_,        device_,
            key(),          MeasureMode::cold, cache_.store().tuned_shapes(key(), MeasureMode::cold)};
  }

  const TemporaryFolder folder_;
  const OpInterface interface_ = scale_interface();
  const DeviceFacts device_ = recording_device();
  SampleCache cache_{folder_.path() / "cache.db"};
};

TEST_F(LessonsTest, of_a_cache_that_has_learned_nothing_are_what_it_knows_of_the_spec) {
  const TrainingSet all = training_set();
  EXPECT_THAT(all.known(), SizeIs(20));
  EXPECT_EQ(all.all(), nullptr);
  EXPECT_THAT(all.serving(), IsEmpty());
}

TEST_F(LessonsTest, are_learned_of_the_whole_op_without_what_a_part_leaves_out) {
  const LossModel model = learn(cache_.store(), interface_, device_, MeasureMode::cold).value();
  cache_.store().put_loss_model(key(), MeasureMode::cold, model);
  const TrainingSet all = training_set();
  EXPECT_EQ(*all.all(), model);
  ASSERT_THAT(all.serving(), SizeIs(20));
  EXPECT_THAT(all.serving()[0].configs, SizeIs(1)) << "the winner, and not what was only timed";
  const std::vector<ShapeDims> shapes = all.shapes();
  ASSERT_THAT(shapes, SizeIs(21));
  EXPECT_THAT(shapes.back(), ElementsAre(8, 640)) << "what another spec has comes last";

  // 8×640 of fp32 shares its columns with the tenth shape.
  const std::vector<ShapeDims> judged{shapes[9], shapes[0]};
  const Folds folds(
      judged, shapes,
      [](const ShapeDims& shape) -> Folds::LeavesOut {
        return [=](const ShapeDims& other) { return other[1] == shape[1]; };
      },
      2);
  const auto models = all.without_each(folds);
  ASSERT_THAT(models, SizeIs(2));
  EXPECT_EQ(models[folds.of(0)]->shapes(), 19U);
  EXPECT_EQ(models[folds.of(1)]->shapes(), 20U);
  EXPECT_THAT(models[folds.of(0)]->space().attributes, IsEmpty()) << "one spec is left";
  EXPECT_THAT(models[folds.of(1)]->space().attributes, ElementsAre("dtype"));
}

TEST_F(LessonsTest, of_too_little_are_none) {
  cache_.store().put_loss_model(key(), MeasureMode::cold,
                                learn(cache_.store(), interface_, device_, MeasureMode::cold).value());
  const TrainingSet all = training_set();
  const Folds folds(
      {{8, 64}}, all.shapes(),
      [](const ShapeDims&) -> Folds::LeavesOut { return [](const ShapeDims& other) { return other[1] > 640; }; }, 1);
  EXPECT_THAT(all.without_each(folds), ElementsAre(nullptr));
}

}  // namespace
}  // namespace tilewright::training_set_test
