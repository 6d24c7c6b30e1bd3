// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/lessons.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/base/error.hpp"
#include "tests/launch/sample_cache.hpp"
#include "tuner/learn/learn.hpp"

namespace tilewright::lessons_test {
namespace {

using namespace tilewright::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// `scale` teaches `halved`, which has half its columns and one more parameter.
class Lessons : public ::testing::Test {
 protected:
  Lessons() {
    cache_.add_op(scale_, scale_wide(), scale_kernels(), scale_binary());
    halved_.op = "halved";
    halved_.dtypes = {DType::f16};
    halved_.attributes = {{"round", {"no"}}, {"kept", {"less", "more"}}};
  }
  void tune(const std::string& problem, int configs = 2) {
    cache_.add_winner(scale_, problem, "wide{num_warps=1,vec=1,static_dims=0}", {.median_ns = 1000});
    const ProblemKey key{parse_problem(problem, scale_), scale_.hash(), device_.fingerprint()};
    const WinnerRow row = *cache_.store().winner_of(key, MeasureMode::cold, WinnerRole::best);
    for (int i = 1; i < configs; ++i) {
      Trial trial = row.winner.trial;
      trial.config =
          Config::parse(fmt::format("wide{{num_warps={},vec={},static_dims=0}}", 1 << (i % 4), 1 << (i / 4)));
      trial.timing->median_ns = 1000 + 100 * i;
      cache_.store().put_trial(key, row.implementation_hash, trial);
    }
  }
  [[nodiscard]] std::vector<SpecSummary> taught() {
    return lessons_of(cache_.store(), halved_, device_, MeasureMode::cold, lessons_);
  }

  const TemporaryFolder folder_;
  const OpInterface scale_ = scale_interface();
  const DeviceFacts device_ = recording_device();
  SampleCache cache_{folder_.path() / "cache.db"};
  OpInterface halved_ = scale_interface();
  tilewright::Lessons lessons_{{{"scale",
                                 Formula::parse("cols % 2 == 0"),
                                 {Formula::parse("rows"), Formula::parse("cols / 2")},
                                 {{"depth", Formula::parse("rows + cols")}}}},
                               {{"wide", {"halved-hash", {"vec", "depth"}}}}};
};

TEST_F(Lessons, are_the_teachers_trials_in_the_dims_and_parameters_of_who_learns) {
  tune("scale[dtype=f16,round=yes]{rows=8,cols=64}");
  tune("scale[dtype=f16,round=yes]{rows=8,cols=65}");  // excluded by the formula
  tune("scale[dtype=f32]{rows=8,cols=128}");           // of a type that the op lacks
  const std::vector<SpecSummary> specs = taught();
  ASSERT_THAT(specs, SizeIs(1));
  EXPECT_EQ(specs[0].spec.text(), "halved[dtype=f16,round=no,kept=less]") << "values that it has not are its first";
  ASSERT_THAT(specs[0].shapes, SizeIs(1));
  EXPECT_THAT(specs[0].shapes[0].dims, ElementsAre(8, 32));
  std::vector<std::string> configs;
  for (const ConfigSummary& each : specs[0].shapes[0].configs) {
    configs.push_back(fmt::format("{} {} {}", each.id.implementation_hash, each.id.config.text(), each.median_ns));
    EXPECT_FALSE(each.role || each.has_binary || each.is_spare || each.has_failed) << "it serves nobody";
  }
  EXPECT_THAT(configs, ::testing::UnorderedElementsAre("halved-hash wide{vec=1,depth=72} 1000",
                                                       "halved-hash wide{vec=1,depth=72} 1100"));
}

TEST_F(Lessons, are_none_where_one_config_was_timed_or_a_parameter_has_no_value_or_nobody_teaches) {
  tune("scale[dtype=f16]{rows=8,cols=64}", 1);
  EXPECT_THAT(taught(), IsEmpty());
  tune("scale[dtype=f16]{rows=8,cols=128}");
  EXPECT_THAT(taught(), SizeIs(1));
  lessons_.teachers[0].parameters.clear();
  EXPECT_THAT(taught(), IsEmpty());
  lessons_.teachers[0].op = "scales";
  EXPECT_THAT(taught(), IsEmpty());
}

TEST_F(Lessons, whose_formula_names_what_the_teacher_lacks_are_refused_with_its_name) {
  tune("scale[dtype=f16]{rows=8,cols=64}");
  lessons_.teachers[0].when = Formula::parse("columns > 1");
  EXPECT_THROW(static_cast<void>(taught()), DefinitionError);
}

TEST_F(Lessons, make_a_model_of_an_op_that_was_tuned_at_too_few_shapes_and_serve_nothing_themselves) {
  const OpSpec spec = parse_spec("scale[dtype=f16]", scale_);
  const auto recipe_of = [wide = scale_wide()](const std::string&) -> const ImplementationRecipe& { return wide; };
  const auto specs = [&](std::int64_t shapes, std::int64_t rows, int first_vec) {
    SpecSummary made{spec, {}};
    for (std::int64_t i = 1; i <= shapes; ++i) {
      ShapeSummary& shape = made.shapes.emplace_back(ShapeSummary{{rows * i, 64 * i}, {}});
      for (int config = 0; config < 16; ++config) {
        const std::string text =
            fmt::format("wide{{num_warps={},vec={},static_dims=0}}", 1 << (config % 4), first_vec << (config / 4));
        shape.configs.push_back({"wide-hash", Config::parse(text), 1000.0 + 100 * config, std::nullopt, false});
      }
    }
    return std::vector<SpecSummary>{made};
  };
  EXPECT_FALSE(learn(scale_, device_, specs(2, 8, 1), recipe_of));
  const auto model = learn(scale_, device_, specs(2, 8, 1), recipe_of, specs(20, 100, 2));
  ASSERT_TRUE(model);
  EXPECT_EQ(model->shapes(), 22U);
  EXPECT_THAT(model->configs(), SizeIs(16)) << "those of its own trials alone may serve";
}

}  // namespace
}  // namespace tilewright::lessons_test
