// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/learn.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cache/predict/losses.hpp"
#include "tests/launch/sample_cache.hpp"

namespace tilewright::learn_test {
namespace {

using namespace tilewright::testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kNarrow = "wide{num_warps=1,vec=4,static_dims=0}";
constexpr const char* kBroad = "wide{num_warps=8,vec=4,static_dims=0}";
constexpr const char* kBase = "plain{num_warps=4}";

ConfigSummary timed(const std::string& text, double median_ns, std::optional<WinnerRole> role = std::nullopt) {
  return {"wide-hash", Config::parse(text), median_ns, role, false};
}

/// Few warps are best for few columns, many for many; the loss grows with the distance from the best.
double time_of(std::int64_t cols, int num_warps, int vec) {
  const double best = std::clamp(std::log2(static_cast<double>(cols) / 64) / 2, 0.0, 3.0);
  return 1000 * std::exp(0.25 * std::abs(std::log2(num_warps) - best) + 0.05 * std::abs(vec - 4));
}

ShapeSummary shape(std::int64_t rows, std::int64_t cols) {
  ShapeSummary known{{rows, cols}, {}};
  for (const int num_warps : {1, 2, 4, 8}) {
    for (const int vec : {1, 2, 4, 8}) {
      known.configs.push_back(timed(fmt::format("wide{{num_warps={},vec={},static_dims=0}}", num_warps, vec),
                                    time_of(cols, num_warps, vec)));
    }
  }
  return known;
}

/// 4 × 6 shapes: 384 trials.
std::vector<ShapeSummary> shapes() {
  std::vector<ShapeSummary> known;
  for (const std::int64_t rows : {8, 100, 1000, 4000}) {
    for (const std::int64_t cols : {64, 128, 512, 1024, 4096, 16384}) known.push_back(shape(rows, cols));
  }
  return known;
}

class Learn : public ::testing::Test {
 protected:
  [[nodiscard]] std::optional<LossModel> learned(const std::vector<ShapeSummary>& known) const {
    return learned(std::vector<SpecSummary>{{spec_, known}});
  }
  [[nodiscard]] std::optional<LossModel> learned(const std::vector<SpecSummary>& known) const {
    return learn(interface_, device_, known, [this](const std::string& hash) -> const ImplementationRecipe& {
      if (hash == "wide-hash") return wide_;
      return hash == "plain-hash" ? plain_ : none_;
    });
  }
  [[nodiscard]] double loss(const LossModel& model, const char* config, std::int64_t rows, std::int64_t cols) const {
    return loss(model, config, spec_, rows, cols);
  }
  [[nodiscard]] double loss(const LossModel& model, const char* config, const OpSpec& spec, std::int64_t rows,
                            std::int64_t cols) const {
    const Problem problem = make_problem(spec, interface_, std::vector<std::int64_t>{rows, cols});
    return model.loss(
        model.space().of(interface_, "wide-hash", wide_, Config::parse(config), problem, device_).value());
  }
  [[nodiscard]] static std::vector<std::string> configs(const LossModel& model) {
    std::vector<std::string> texts;
    for (const LossModel::Known& known : model.configs()) texts.push_back(known.config.text());
    return texts;
  }

  const OpInterface interface_ = scale_interface();
  const OpSpec spec_ = parse_spec("scale[dtype=f16]", interface_);
  const DeviceFacts device_ = recording_device();
  const ImplementationRecipe wide_ = scale_wide(), plain_ = scale_plain(), none_{};
};

TEST_F(Learn, tells_which_config_is_best_at_shapes_between) {
  const LossModel model = learned(shapes()).value();
  EXPECT_EQ(model.shapes(), 24U);
  EXPECT_THAT(model.space().implementations, ElementsAre("wide-hash"));
  EXPECT_THAT(model.space().parameters, ElementsAre("num_warps", "static_dims", "vec"));
  EXPECT_EQ(model.space().dims, 2U);
  EXPECT_THAT(model.configs(), SizeIs(16));
  for (const std::int64_t rows : {8, 37, 500, 3000}) {
    EXPECT_LT(loss(model, kNarrow, rows, 96), loss(model, kBroad, rows, 96) - 0.3) << rows;
    EXPECT_LT(loss(model, kBroad, rows, 8192), loss(model, kNarrow, rows, 8192) - 0.3) << rows;
    EXPECT_LT(loss(model, "wide{num_warps=2,vec=4,static_dims=0}", rows, 256), loss(model, kBroad, rows, 256)) << rows;
    EXPECT_NEAR(loss(model, kNarrow, rows, 80), 0, 0.05) << "who is best loses nothing";
  }
}

TEST_F(Learn, of_one_spec_what_another_taught_holds_until_its_own_trials_say_otherwise) {
  const OpSpec other = parse_spec("scale[dtype=f32,round=yes]", interface_);
  EXPECT_THAT(learned(shapes())->space().attributes, IsEmpty()) << "one spec differs in nothing";
  // Two own shapes are too few to matter.
  const LossModel alike = learned({{spec_, shapes()}, {other, {shape(8, 64), shape(8, 128)}}}).value();
  EXPECT_THAT(alike.space().attributes, ElementsAre("dtype", "round"));
  EXPECT_EQ(alike.shapes(), 26U);
  EXPECT_LT(loss(alike, kBroad, other, 500, 8192), loss(alike, kNarrow, other, 500, 8192) - 0.3);
  EXPECT_LT(loss(alike, kNarrow, other, 500, 96), loss(alike, kBroad, other, 500, 96) - 0.3);
  // If its effect is inverted, its own trials count.
  std::vector<ShapeSummary> turned = shapes();
  for (ShapeSummary& each : turned) {
    for (ConfigSummary& config : each.configs) config.median_ns = 2e6 / config.median_ns;
  }
  const LossModel unlike = learned({{spec_, shapes()}, {other, turned}}).value();
  EXPECT_GT(loss(unlike, kBroad, other, 500, 8192), loss(unlike, kNarrow, other, 500, 8192) + 0.3);
  EXPECT_LT(loss(unlike, kBroad, spec_, 500, 8192), loss(unlike, kNarrow, spec_, 500, 8192) - 0.3);
  EXPECT_EQ(LossModel::decode(alike.encode()).value(), alike);
}

TEST_F(Learn, of_the_same_shapes_is_always_the_same) { EXPECT_EQ(learned(shapes()), learned(shapes())); }

TEST_F(Learn, of_other_sources_of_the_same_implementations_is_the_same) {
  const auto learned_as = [&](const std::string& wide_hash, const std::string& plain_hash) {
    std::vector<ShapeSummary> known = shapes();
    for (ShapeSummary& each : known) {
      for (ConfigSummary& config : each.configs) config.id.implementation_hash = wide_hash;
      each.configs.push_back({plain_hash, Config::parse("plain{num_warps=2}"), 1500, std::nullopt, false});
    }
    return learn(interface_, device_, {{spec_, known}},
                 [&](const std::string& hash) -> const ImplementationRecipe& {
                   return hash == wide_hash ? wide_ : plain_;
                 })
        .value();
  };
  const LossModel one = learned_as("hash 1", "hash 2"), other = learned_as("hash 2", "hash 1");
  EXPECT_THAT(one.space().implementations, ElementsAre("hash 2", "hash 1")) << "plain, wide";
  EXPECT_THAT(other.space().implementations, ElementsAre("hash 1", "hash 2"));
  const auto loss_of = [&](const LossModel& model, const char* hash, const ImplementationRecipe& recipe,
                           const char* config) {
    const Problem problem = make_problem(spec_, interface_, std::vector<std::int64_t>{500, 256});
    return model.loss(model.space().of(interface_, hash, recipe, Config::parse(config), problem, device_).value());
  };
  EXPECT_EQ(loss_of(one, "hash 1", wide_, kBroad), loss_of(other, "hash 2", wide_, kBroad));
  EXPECT_EQ(loss_of(one, "hash 2", plain_, "plain{num_warps=2}"),
            loss_of(other, "hash 1", plain_, "plain{num_warps=2}"));
}

TEST_F(Learn, has_neither_bases_nor_what_failed_somewhere_among_its_configs) {
  std::vector<ShapeSummary> known = shapes();
  for (ShapeSummary& each : known) {
    each.configs.push_back({"plain-hash", Config::parse(kBase), 900, WinnerRole::base, false});
    // Timed at each shape; below, it also fails at one.
    each.configs.push_back(timed("wide{num_warps=16,vec=4,static_dims=0}", 800));
  }
  EXPECT_THAT(configs(learned(known).value()), Contains("wide{num_warps=16,vec=4,static_dims=0}"));
  ConfigSummary failed = timed("wide{num_warps=16,vec=4,static_dims=0}", 0);
  failed.has_failed = true;
  known[3].configs.back() = failed;
  const LossModel model = learned(known).value();
  EXPECT_THAT(configs(model), Not(Contains("wide{num_warps=16,vec=4,static_dims=0}")));
  EXPECT_THAT(configs(model), Not(Contains(kBase)));
  EXPECT_THAT(configs(model), Contains(kNarrow));
  EXPECT_GT(loss(model, kNarrow, 100, 64), 0.1) << "what failed elsewhere was the fastest here all the same";
}

TEST_F(Learn, has_nothing_among_its_configs_that_failed_in_a_spec_that_teaches_nothing) {
  ShapeSummary alone{{8, 64}, {timed(kBroad, 100, WinnerRole::best), timed(kNarrow, 0)}};
  alone.configs.back().has_failed = true;
  const LossModel model = learned({{spec_, shapes()}, {parse_spec("scale[dtype=f32]", interface_), {alone}}}).value();
  EXPECT_EQ(model.shapes(), 24U) << "of two trials nothing is learned";
  EXPECT_THAT(configs(model), Not(Contains(kNarrow)));
  EXPECT_THAT(configs(model), Contains(kBroad));
}

TEST_F(Learn, knows_the_implementations_of_specs_that_teach_nothing) {
  const ConfigSummary winner{"plain-hash", Config::parse("plain{num_warps=2}"), 100, WinnerRole::best, true};
  const LossModel model =
      learned({{spec_, shapes()}, {parse_spec("scale[dtype=f32]", interface_), {{{8, 64}, {winner}}}}}).value();
  EXPECT_THAT(model.space().implementations, ElementsAre("plain-hash", "wide-hash")) << "their winners are to serve";
  const LossModel alone = learned(shapes()).value();
  EXPECT_EQ(model.configs().size(), alone.configs().size());
  for (const char* config : {kNarrow, kBroad}) {
    EXPECT_EQ(loss(model, config, 500, 512), loss(alone, config, 500, 512)) << "nothing else changes";
  }
}

TEST_F(Learn, is_not_kept_by_one_spec_from_what_another_teaches) {
  // Enough trials, but of too few configs, or of configs that cannot be launched today.
  std::vector<ShapeSummary> twice, forbidden;
  for (std::int64_t i = 1; i <= 60; ++i) {
    ShapeSummary& same = twice.emplace_back(ShapeSummary{{8 * i, 64}, {}});
    for (int time = 0; time < 8; ++time) same.configs.push_back(timed(kNarrow, 100, WinnerRole::best));
    forbidden.push_back(shape(8 * i, 101));
  }
  for (ShapeSummary& each : forbidden) {
    std::erase_if(each.configs, [](const ConfigSummary& config) { return config.id.config.value_or("vec", 0) == 1; });
  }
  for (const std::vector<ShapeSummary>& poor : {twice, forbidden}) {
    EXPECT_EQ(learned({{spec_, shapes()}, {parse_spec("scale[dtype=f32]", interface_), poor}}), learned(shapes()));
  }
}

TEST_F(Learn, is_of_what_was_timed_alone) {
  std::vector<ShapeSummary> known = shapes();
  ConfigSummary spare = timed("wide{num_warps=32,vec=4,static_dims=0}", 0);
  spare.is_spare = spare.has_binary = true;
  for (ShapeSummary& each : known) each.configs.push_back(spare);
  EXPECT_EQ(learned(known), learned(shapes()));
}

TEST_F(Learn, counts_a_winner_of_two_roles_once) {
  std::vector<ShapeSummary> twice = shapes();
  std::vector<ShapeSummary> once = shapes();
  for (std::size_t i = 0; i < once.size(); ++i) {
    ConfigSummary& winner = once[i].configs.front();
    winner.role = WinnerRole::best;
    twice[i].configs.front() = winner;
    twice[i].configs.push_back(winner);
    twice[i].configs.back().role = WinnerRole::dynamic;
  }
  EXPECT_EQ(learned(twice), learned(once));
}

TEST_F(Learn, a_base_that_is_the_best_too_is_no_config_of_it) {
  std::vector<ShapeSummary> known = shapes();
  known[0].configs.push_back(timed(kNarrow, known[0].configs[2].median_ns, WinnerRole::base));
  EXPECT_THAT(configs(learned(known).value()), Not(Contains(kNarrow))) << "it serves where nobody else does";
}

TEST_F(Learn, a_base_that_is_the_best_of_small_shapes_teaches_that_it_is_slow_at_others) {
  std::vector<ShapeSummary> known = shapes();
  for (ShapeSummary& each : known) {
    const bool is_small = each.dims[1] == 64;
    each.configs.push_back({"plain-hash", Config::parse(kBase), is_small ? 900.0 : 9000.0,
                            is_small ? WinnerRole::best : WinnerRole::base, false});
  }
  const LossModel model = learned(known).value();
  const Problem large = make_problem(spec_, interface_, std::vector<std::int64_t>{500, 8192});
  const auto base = model.space().of(interface_, "plain-hash", plain_, Config::parse(kBase), large, device_);
  EXPECT_GT(model.loss(base.value()), loss(model, kNarrow, 500, 8192));
  EXPECT_GT(model.loss(base.value()), 0.9 * kMostLoss);
}

TEST_F(Learn, needs_enough_shapes_and_trials) {
  EXPECT_FALSE(learned(std::vector<ShapeSummary>{}).has_value());
  std::vector<ShapeSummary> known = shapes();
  known.resize(kFewestShapesToLearn);
  ASSERT_EQ(known.size() * known[0].configs.size(), kFewestTrialsToLearn);
  EXPECT_TRUE(learned(known).has_value());
  std::vector<ShapeSummary> fewer_trials = known;
  fewer_trials[5].configs.pop_back();
  EXPECT_FALSE(learned(fewer_trials).has_value());
  std::vector<ShapeSummary> fewer_shapes = known;
  fewer_shapes.pop_back();
  for (const ConfigSummary& each : known.back().configs) {
    ConfigSummary more = each;
    more.id.config.values[0].second *= 16;
    fewer_shapes[0].configs.push_back(more);
  }
  EXPECT_FALSE(learned(fewer_shapes).has_value()) << "as many trials of fewer shapes";
}

TEST_F(Learn, leaves_out_what_cannot_be_launched_any_more) {
  std::vector<ShapeSummary> known = shapes();
  // An implementation that no longer exists, and columns that today's constraint forbids.
  for (ShapeSummary& each : known) each.configs.push_back({"gone-hash", Config::parse("gone{x=1}"), 500, std::nullopt});
  known.push_back(shape(8, 101));
  const LossModel model = learned(known).value();
  EXPECT_LT(loss(model, kNarrow, 100, 96), loss(model, kBroad, 100, 96));
  known.resize(kFewestShapesToLearn);
  for (ShapeSummary& each : known) each.dims[1] = 101;
  EXPECT_FALSE(learned(known).has_value()) << "what is left is too little";
}

TEST_F(Learn, of_a_cache_is_of_all_its_shapes) {
  const TemporaryFolder folder;
  SampleCache cache(folder.path() / "cache.db");
  cache.add_op(interface_, scale_wide(), scale_kernels(), scale_binary());
  EXPECT_FALSE(learn(cache.store(), interface_, device_, MeasureMode::cold).has_value());
  for (const ShapeSummary& each : shapes()) {
    const std::string problem = fmt::format("scale[dtype=f16]{{rows={},cols={}}}", each.dims[0], each.dims[1]);
    const auto best = std::ranges::min_element(each.configs, {}, &ConfigSummary::median_ns);
    cache.add_winner(interface_, problem, best->id.config.text(), {.median_ns = best->median_ns});
    const ProblemKey key{parse_problem(problem, interface_), interface_.hash(), device_.fingerprint()};
    const WinnerRow row = *cache.store().winner_of(key, MeasureMode::cold, WinnerRole::best);
    for (const ConfigSummary& other : each.configs) {
      Trial trial = row.winner.trial;
      trial.config = other.id.config;
      trial.timing->median_ns = other.median_ns;
      if (&other != &*best) cache.store().put_trial(key, row.implementation_hash, trial);
    }
  }
  const auto model = learn(cache.store(), interface_, device_, MeasureMode::cold);
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->shapes(), 24U);
  EXPECT_THAT(model->configs(), SizeIs(16));
  // Another spec has little more than winners: it adds no rows, and does not prevent learning from the others.
  for (std::int64_t i = 1; i <= 100; ++i) {
    cache.add_winner(interface_, fmt::format("scale[dtype=f32]{{rows={},cols=64}}", 8 * i), kNarrow);
  }
  EXPECT_EQ(learn(cache.store(), interface_, device_, MeasureMode::cold), model);
  EXPECT_FALSE(learn(cache.store(), interface_, device_, MeasureMode::hot).has_value());
  EXPECT_FALSE(learn(cache.store(), interface_, recording_device("Another"), MeasureMode::cold).has_value());
  const RecipeOf recipe_of = recipes_of(cache.store());
  const std::string hash = model->space().implementations.front();
  EXPECT_EQ(recipe_of(hash), scale_wide());
  EXPECT_EQ(&recipe_of(hash), &recipe_of(hash)) << "read once, and it stays where it is";
  EXPECT_TRUE(recipe_of("nobody's").kernels.empty());
}

}  // namespace
}  // namespace tilewright::learn_test
