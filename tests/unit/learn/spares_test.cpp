// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/spares.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

#include "cache/plan/plan.hpp"
#include "tests/launch/sample_cache.hpp"
#include "tests/unit/predict/hand_made_model.hpp"

namespace tilewright::spares_test {
namespace {

using namespace tilewright::testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SparesTest : public ::testing::Test {
 protected:
  SparesTest() : cache_(folder_.path() / "cache.db") {
    cache_.add_op(interface_, scale_wide(), scale_kernels(), scale_binary());
    cache_.add_op(interface_, scale_plain(), scale_kernels(), scale_binary());
  }

  void tune(std::int64_t rows, std::int64_t cols, const std::string& winner, WinnerRole role = WinnerRole::best) {
    cache_.add_winner(interface_,
                      "scale[dtype=f16]{rows=" + std::to_string(rows) + ",cols=" + std::to_string(cols) + "}", winner,
                      {.role = role, .median_ns = 100});
  }
  /// Adds a time of another config at a tuned shape, whose winner took 100.
  void time(std::int64_t rows, std::int64_t cols, const std::string& config, double median_ns,
            const std::string& implementation_hash = {}) {
    const ProblemKey key{{parse_spec("scale[dtype=f16]", interface_), {{"rows", rows}, {"cols", cols}}},
                         interface_.hash(),
                         device_.fingerprint()};
    const WinnerRow row = cache_.store().winner_of(key, MeasureMode::cold, WinnerRole::best).value();
    Trial trial = row.winner.trial;
    trial.config = Config::parse(config);
    trial.timing->median_ns = median_ns;
    cache_.store().put_trial(key, implementation_hash.empty() ? row.implementation_hash : implementation_hash, trial);
  }
  /// Adds a failure of a config at a shape, in another dtype.
  void fail(std::int64_t rows, std::int64_t cols, const std::string& config) {
    ProblemKey key{{parse_spec("scale[dtype=f16]", interface_), {{"rows", rows}, {"cols", cols}}},
                   interface_.hash(),
                   device_.fingerprint()};
    const WinnerRow row = cache_.store().winner_of(key, MeasureMode::cold, WinnerRole::best).value();
    Trial trial = row.winner.trial;
    trial.config = Config::parse(config);
    trial.timing.reset();
    trial.status = TrialStatus::wrong_result;
    key.problem.spec = parse_spec("scale[dtype=bf16]", interface_);
    cache_.store().put_trial(key, row.implementation_hash, trial);
  }
  std::vector<Spare> choose(std::size_t most, const std::vector<ShapeDims>& range = {},
                            std::optional<std::size_t> filled = std::nullopt) {
    const OpSpec spec = parse_spec("scale[dtype=f16]", interface_);
    const ProblemKey key{Problem{spec, {{"rows", 1}, {"cols", 1}}}, interface_.hash(), device_.fingerprint()};
    const Store& store = cache_.store();
    SpaceValues space =
        values_seen(store, store.known_shapes(key, MeasureMode::cold, store.tuned_shapes(key, MeasureMode::cold)));
    space.erase(kOlder);
    return choose_spares(store, interface_, spec, device_, MeasureMode::cold, space,
                         store.failed_configs(key, MeasureMode::cold),
                         range.empty() ? store.tuned_shapes(key, MeasureMode::cold) : range,
                         {.helpful = most, .filled = filled.value_or(most), .covering = kMostCovering});
  }

  static std::vector<std::string> texts(const std::vector<Spare>& spares) {
    std::vector<std::string> texts;
    for (const Spare& spare : spares) texts.push_back(spare.id.config.text());
    return texts;
  }

  /// Adds a model by which configs with fewer warps lose a factor of e to the power of `loss`, and others nothing.
  void learn(double warps, const std::vector<std::string>& configs, const std::string& gone = {}, double loss = 1) {
    const ProblemKey key{parse_problem("scale[dtype=f16]{rows=8,cols=64}", interface_), interface_.hash(),
                         device_.fingerprint()};
    const std::string wide =
        cache_.store().winner_of(key, MeasureMode::cold, WinnerRole::best).value().implementation_hash;
    std::vector<std::string> implementations{wide};
    if (!gone.empty()) implementations.push_back(gone);
    std::vector<std::pair<std::size_t, std::string>> known;
    for (const std::string& config : configs) {
      for (std::size_t i = 0; i < implementations.size(); ++i) known.emplace_back(i, config);
    }
    const auto cut = static_cast<float>(std::log2(warps + 0.5));
    cache_.store().put_loss_model(key, MeasureMode::cold,
                                  test::model_of({implementations, {"num_warps", "static_dims", "vec"}, 2},
                                                 {.feature = 1, .cut = cut, .below = loss, .unit = loss}, known));
  }

  /// The hash of a source that is no longer in the space.
  static constexpr const char* kOlder = "older hash";
  const OpInterface interface_ = scale_interface();
  const DeviceFacts device_ = recording_device();
  TemporaryFolder folder_;
  SampleCache cache_;
};

TEST_F(SparesTest, serve_the_shapes_that_they_are_for_without_specialised_dims) {
  tune(8, 64, "wide{num_warps=2,vec=8,static_dims=1}");
  tune(4096, 8190, "wide{num_warps=4,vec=2,static_dims=1}");
  tune(4096, 8190, "wide{num_warps=2,vec=2,static_dims=0}");
  tune(8, 64, "plain{num_warps=1}", WinnerRole::base);
  const std::vector<Spare> spares = choose(8);
  ASSERT_FALSE(spares.empty());
  for (const Spare& spare : spares) {
    EXPECT_EQ(spare.id.config.implementation, "wide") << "the base has a binary";
    EXPECT_FALSE(spare.id.config.specialised()) << spare.id.config.text();
    EXPECT_NE(spare.id.config.text(), "wide{num_warps=2,vec=2,static_dims=0}") << "has a binary";
    EXPECT_TRUE(
        std::holds_alternative<LaunchPlan>(make_plan(interface_, scale_wide(), spare.id.config, spare.serves, device_)))
        << spare.id.config.text() << " at " << spare.serves.key();
    EXPECT_TRUE(spare.home == (ShapeDims{8, 64}) || spare.home == (ShapeDims{4096, 8190}));
  }
  const std::vector<Spare> again = choose(8);
  EXPECT_TRUE(std::ranges::equal(spares, again, {}, &Spare::id, &Spare::id)) << "always the same";
}

TEST_F(SparesTest, are_no_more_than_asked_for_and_the_most_helpful_first) {
  tune(8, 64, "wide{num_warps=2,vec=8,static_dims=1}");
  tune(4096, 8190, "wide{num_warps=4,vec=2,static_dims=1}");
  tune(4096, 8190, "wide{num_warps=2,vec=2,static_dims=0}");
  const std::vector<Spare> some = choose(2);
  const std::vector<Spare> one = choose(1);
  ASSERT_FALSE(some.empty());
  EXPECT_LE(some.size(), 2U);
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(some.front().id.config, one.front().id.config);
  EXPECT_THAT(choose(0), IsEmpty());
}

TEST_F(SparesTest, are_those_that_what_was_learned_promises_most_of) {
  tune(8, 64, "wide{num_warps=2,vec=8,static_dims=1}");
  tune(4096, 8192, "wide{num_warps=4,vec=2,static_dims=0}");
  learn(7, {"wide{num_warps=2,vec=1,static_dims=0}", "wide{num_warps=8,vec=1,static_dims=0}",
            "wide{num_warps=8,vec=1,static_dims=1}", "wide{num_warps=4,vec=2,static_dims=0}"});
  const std::vector<Spare> spares = choose(8);
  ASSERT_THAT(spares, SizeIs(1)) << "the others lose more than what is there, or are specialised";
  EXPECT_EQ(spares[0].id.config.text(), "wide{num_warps=8,vec=1,static_dims=0}");
}

TEST_F(SparesTest, need_no_more_where_what_has_a_binary_is_as_good_as_any) {
  tune(8, 64, "wide{num_warps=8,vec=1,static_dims=0}");
  tune(4096, 8192, "wide{num_warps=8,vec=1,static_dims=0}");
  learn(7, {"wide{num_warps=16,vec=1,static_dims=0}", "wide{num_warps=8,vec=1,static_dims=0}"});
  EXPECT_THAT(choose(8), IsEmpty());
}

TEST_F(SparesTest, that_hardly_help_are_left_out) {
  tune(8, 64, "wide{num_warps=4,vec=1,static_dims=0}");
  tune(4096, 8192, "wide{num_warps=4,vec=1,static_dims=0}");
  const std::vector<std::string> configs{"wide{num_warps=8,vec=1,static_dims=0}",
                                         "wide{num_warps=4,vec=1,static_dims=0}"};
  learn(7, configs, {}, 0.75 * kLeastHelp);
  EXPECT_THAT(choose(8, {}, 0), IsEmpty());
  learn(7, configs, {}, 1.25 * kLeastHelp);
  EXPECT_THAT(texts(choose(8, {}, 0)), ElementsAre("wide{num_warps=8,vec=1,static_dims=0}"));
}

TEST_F(SparesTest, are_of_no_implementation_that_is_gone) {
  tune(8, 64, "wide{num_warps=2,vec=8,static_dims=1}");
  tune(4096, 8192, "wide{num_warps=4,vec=2,static_dims=0}");
  learn(7, {"wide{num_warps=8,vec=1,static_dims=0}"}, "zzz of an older source");
  const std::vector<Spare> spares = choose(8);
  ASSERT_THAT(spares, SizeIs(1));
  EXPECT_NE(spares[0].id.implementation_hash, "zzz of an older source");
}

TEST_F(SparesTest, then_are_what_was_nearly_the_best_of_any_width_those_first_that_were_so_most_often) {
  for (const std::int64_t rows : {8, 512}) tune(rows, 64, "wide{num_warps=2,vec=8,static_dims=1}");
  tune(4096, 8192, "wide{num_warps=4,vec=2,static_dims=0}");
  tune(4096, 8192, "plain{num_warps=1}", WinnerRole::base);
  learn(7, {"wide{num_warps=8,vec=1,static_dims=0}"});
  // The specialised winner does not count: times are compared with the fastest unspecialised config.
  time(8, 64, "wide{num_warps=4,vec=8,static_dims=0}", 140);
  time(8, 64, "wide{num_warps=8,vec=8,static_dims=0}", 143);
  time(8, 64, "wide{num_warps=16,vec=8,static_dims=0}", 150);
  time(8, 64, "wide{num_warps=4,vec=8,static_dims=1}", 101);
  time(512, 64, "wide{num_warps=8,vec=8,static_dims=0}", 120);
  const std::vector<Spare> spares = choose(8);
  EXPECT_THAT(texts(spares),
              ElementsAre("wide{num_warps=8,vec=1,static_dims=0}", "wide{num_warps=8,vec=8,static_dims=0}",
                          "wide{num_warps=4,vec=8,static_dims=0}"))
      << "first of all what is expected to help at drawn shapes";
  EXPECT_EQ(spares.at(1).home, (ShapeDims{512, 64})) << "where it lost least";
  EXPECT_EQ(spares.at(1).serves.dim("rows"), 512);
  EXPECT_THAT(choose(2), SizeIs(2));
}

TEST_F(SparesTest, then_are_not_what_was_slower_than_the_best_of_any_width_by_more_than_5_percent) {
  tune(8, 64, "wide{num_warps=2,vec=8,static_dims=1}");
  learn(7, {});
  time(8, 64, "wide{num_warps=4,vec=8,static_dims=0}", 200);
  time(8, 64, "wide{num_warps=8,vec=8,static_dims=0}", 208);
  time(8, 64, "wide{num_warps=16,vec=8,static_dims=0}", 212);
  EXPECT_THAT(texts(choose(8)),
              ElementsAre("wide{num_warps=8,vec=8,static_dims=0}", "wide{num_warps=4,vec=8,static_dims=0}"))
      << "what is expected to be good, then what was fast";
  // Faster than all of these, but it can no longer be compiled.
  cache_.store().put_implementation(interface_.hash(), {kOlder, scale_wide()});
  time(8, 64, "wide{num_warps=1,vec=8,static_dims=0}", 150, kOlder);
  EXPECT_THAT(choose(8), SizeIs(2));
}

TEST_F(SparesTest, are_nothing_that_failed_in_another_dtype_learned_or_not) {
  const std::string fast = "wide{num_warps=8,vec=8,static_dims=0}";
  tune(8, 64, "wide{num_warps=2,vec=8,static_dims=1}");
  tune(4096, 8192, "wide{num_warps=8,vec=8,static_dims=1}");
  time(8, 64, fast, 100);
  ASSERT_THAT(texts(choose(8)), Contains(Config::parse(fast).text()));
  fail(8, 64, fast);
  EXPECT_THAT(texts(choose(8)), Not(Contains(Config::parse(fast).text())));
  learn(7, {fast});
  EXPECT_THAT(choose(8), IsEmpty()) << "nor for having been nearly the best";
}

TEST_F(SparesTest, are_for_the_range_of_shapes_that_is_asked_for) {
  tune(8, 64, "wide{num_warps=8,vec=8,static_dims=0}");
  learn(4, {"wide{num_warps=8,vec=8,static_dims=0}", "wide{num_warps=8,vec=1,static_dims=0}"});
  for (const Spare& spare : choose(8)) EXPECT_LE(spare.serves.dim("rows"), 4 * 8) << "around the only one";
  const std::vector<Spare> spares = choose(8, {{2048, 33}, {4096, 8192}});
  EXPECT_THAT(texts(spares), Contains("wide{num_warps=8,vec=1,static_dims=0}")) << "odd widths need another";
  ASSERT_FALSE(spares.empty());
  EXPECT_GE(spares.front().serves.dim("rows"), 2048 / 4);
  EXPECT_EQ(spares.front().home, (ShapeDims{8, 64})) << "the nearest that is tuned";
}

TEST_F(SparesTest, need_something_that_was_tuned) { EXPECT_THAT(choose(8), IsEmpty()); }

TEST_F(SparesTest, are_for_shapes_first_that_nothing_serves_but_a_slow_base) {
  const std::string fast = "wide{num_warps=8,vec=8,static_dims=0}";
  const std::string anywhere = "wide{num_warps=1,vec=1,static_dims=0}";
  for (const std::int64_t cols : {64, 128, 256}) tune(8, cols, "wide{num_warps=1,vec=8,static_dims=0}");
  for (const std::int64_t cols : {65, 129, 257}) tune(8, cols, "wide{num_warps=1,vec=1,static_dims=1}");
  learn(2, {fast, anywhere});
  const auto first = [&] {
    const std::vector<Spare> spares = choose(1);
    return spares.empty() ? "none" : spares.front().id.config.text();
  };
  EXPECT_EQ(first(), Config::parse(fast).text()) << "of the base it is not known how slow it is";
  cache_.add_winner(interface_, "scale[dtype=f16]{rows=8,cols=64}", "plain{num_warps=1}",
                    {.role = WinnerRole::base, .median_ns = 100 * 100});
  EXPECT_EQ(first(), Config::parse(anywhere).text());
}

TEST_F(SparesTest, beyond_those_asked_for_serve_shapes_at_which_nothing_known_is_good) {
  const std::string wide = "wide{num_warps=8,vec=8,static_dims=0}";
  const std::string anywhere = "wide{num_warps=8,vec=1,static_dims=0}";
  tune(8, 64, wide);
  tune(4096, 8190, "wide{num_warps=2,vec=1,static_dims=1}");
  tune(8, 64, "plain{num_warps=1}", WinnerRole::base);
  learn(4, {wide});
  EXPECT_THAT(texts(choose(0)), ElementsAre(Config::parse(anywhere).text()))
      << "what was learned of is for whole vectors";
  const std::vector<Spare> spares = choose(0);
  ASSERT_THAT(spares, SizeIs(1));
  EXPECT_NE(spares.front().serves.dim("cols") % 8, 0);
  tune(8, 65, anywhere);
  EXPECT_THAT(choose(0), IsEmpty()) << "that has a binary";
}

TEST_F(SparesTest, are_of_any_values_where_nothing_learned_of_an_implementation_can_be_launched) {
  const std::string good = "wide{num_warps=2,vec=1,static_dims=0}", another = "another hash";
  const std::string whole = "wide{num_warps=8,vec=8,static_dims=0}", any = "wide{num_warps=8,vec=1,static_dims=0}";
  tune(8, 64, good);
  tune(4096, 8190, good);
  tune(8, 64, "plain{num_warps=1}", WinnerRole::base);
  cache_.store().put_implementation(interface_.hash(), {another, scale_wide()});
  time(8, 64, whole, 90, another);
  time(4096, 8190, "wide{num_warps=8,vec=1,static_dims=1}", 90, another);
  const ProblemKey key{parse_problem("scale[dtype=f16]{rows=8,cols=64}", interface_), interface_.hash(),
                       device_.fingerprint()};
  const std::string wide =
      cache_.store().winner_of(key, MeasureMode::cold, WinnerRole::best).value().implementation_hash;
  cache_.store().put_loss_model(key, MeasureMode::cold,
                                test::model_of({{wide, another}, {"num_warps", "static_dims", "vec"}, 2},
                                               {.feature = 1, .cut = 2, .below = 0.3}, {{0, good}, {1, whole}}));
  const std::vector<Spare> spares = choose(8, {}, 0);
  EXPECT_THAT(texts(spares), ::testing::UnorderedElementsAre(whole, any));
  for (const Spare& each : spares) EXPECT_EQ(each.id.implementation_hash, another);
}

TEST_F(SparesTest, are_found_for_shapes_that_few_are_like_whatever_the_base_promises) {
  const std::string usual = "wide{num_warps=8,vec=1,static_dims=0}";
  tune(8, 64, usual);
  tune(4096, 8190, "wide{num_warps=16,vec=1,static_dims=1}");
  tune(8, 64, "wide{num_warps=32,vec=1,static_dims=0}", WinnerRole::base);
  learn(4, {usual});
  const ProblemKey key{parse_problem("scale[dtype=f16]{rows=8,cols=64}", interface_), interface_.hash(),
                       device_.fingerprint()};
  ImplementationRecipe picky = scale_wide();
  picky.constraints.push_back(Formula::parse("num_warps != 8 or cols % 613 != 0"));
  cache_.store().put_implementation(
      interface_.hash(),
      {cache_.store().winner_of(key, MeasureMode::cold, WinnerRole::best).value().implementation_hash, picky});
  const std::vector<Spare> spares = choose(0);
  ASSERT_THAT(texts(spares), ElementsAre("wide{num_warps=16,vec=1,static_dims=0}"));
  EXPECT_EQ(spares.front().serves.dim("cols") % 613, 0);
}

TEST_F(SparesTest, are_also_for_shapes_at_which_the_base_alone_is_expected_to_be_good) {
  const std::string wide = "wide{num_warps=8,vec=8,static_dims=0}";
  const std::string base = "wide{num_warps=16,vec=1,static_dims=0}";
  tune(8, 64, wide);
  tune(4096, 8190, "wide{num_warps=8,vec=1,static_dims=1}");
  tune(8, 64, base, WinnerRole::base);
  learn(4, {wide});
  EXPECT_THAT(texts(choose(0)), ElementsAre("wide{num_warps=8,vec=1,static_dims=0}"));
}

}  // namespace
}  // namespace tilewright::spares_test
