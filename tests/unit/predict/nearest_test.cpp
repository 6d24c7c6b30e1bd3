// SPDX-License-Identifier: Apache-2.0
#include "cache/predict/nearest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cache/serve/winner_source.hpp"
#include "tests/unit/predict/known_shapes.hpp"

namespace tilewright::nearest_test {
namespace {

using test::by_blocks;
using test::config;
using test::kLarge;
using test::kSmall;
using test::of_m_alone;
using test::of_padding;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool any(const ConfigSummary&, const ShapeDims&) { return true; }

TEST(Nearest, shapes_are_ordered_by_the_doublings_between) {
  const std::vector<ShapeDims> shapes{{1, 1024}, {1024, 1024}, {8, 512}, {8, 2048}};
  EXPECT_THAT(nearest_shapes(shapes, ShapeDims{8, 1024}, 3),
              ElementsAre(ShapeDims{8, 512}, ShapeDims{8, 2048}, ShapeDims{1, 1024}));
  EXPECT_THAT(nearest_shapes({}, ShapeDims{8, 1024}), IsEmpty());
  EXPECT_THAT(nearest_shapes({{7}}, ShapeDims{8, 1024}), IsEmpty()) << "of another number of dims";
}

TEST(Nearest, the_winner_of_shapes_alike_in_what_matters_goes_first) {
  const std::vector<NearConfig> ranked = rank_nearest(of_m_alone(), ShapeDims{128, 1 << 20}, any);
  ASSERT_EQ(ranked.size(), 2U);
  EXPECT_EQ(ranked[0].id.config.text(), kSmall);
  EXPECT_EQ(ranked[0].tuned_for, (ShapeDims{64, 16384})) << "of several where it is a winner the nearest";
  EXPECT_LT(ranked[0].expected_loss, 0.1);
  EXPECT_GT(ranked[1].expected_loss, 0.5);
}

TEST(Nearest, a_dim_that_costs_little_is_crossed_in_longer_steps) {
  const NearestPredictor expectation(of_m_alone(), ShapeDims{128, 1 << 20});
  EXPECT_LT(expectation.distance_to(ShapeDims{128, 1 << 10}), 50) << "of ten doublings of n more than one are a step";
  EXPECT_GE(expectation.distance_to(ShapeDims{128, 1 << 10}), 25) << "two at most";
  EXPECT_NEAR(expectation.distance_to(ShapeDims{512, 1 << 20}), 4, 1e-9);
}

TEST(Nearest, a_config_that_did_badly_near_by_yields_to_one_that_did_well_all_around) {
  const std::string sure = "tiled{block=128}";
  const std::vector<ShapeSummary> known{
      {{100}, {config(kSmall, 100, WinnerRole::best), config(sure, 101)}},
      {{200}, {config(sure, 100, WinnerRole::best), config(kSmall, 250)}},
      {{50}, {config(sure, 100, WinnerRole::best), config(kSmall, 250)}},
  };
  EXPECT_EQ(rank_nearest(known, ShapeDims{120}, any).at(0).id.config.text(), sure);
}

TEST(Nearest, bases_and_what_the_caller_refuses_are_left_out) {
  const std::vector<ShapeSummary> known{
      {{100}, {config(kSmall, 100, WinnerRole::best), config(kLarge, 300, WinnerRole::base)}},
      {{200}, {config(kSmall, 100, WinnerRole::dynamic)}},
  };
  const auto only_200 = [](const ConfigSummary&, const ShapeDims& tuned_for) { return tuned_for == ShapeDims{200}; };
  const std::vector<NearConfig> ranked = rank_nearest(known, ShapeDims{100}, only_200);
  ASSERT_EQ(ranked.size(), 1U);
  EXPECT_EQ(ranked[0].tuned_for, ShapeDims{200});
  EXPECT_EQ(ranked[0].role, WinnerRole::dynamic);
}

TEST(Nearest, the_same_text_of_another_implementation_is_another_config_though_alike) {
  ConfigSummary other = config(kSmall, 500);
  other.id.implementation_hash = "older";
  const std::vector<ShapeSummary> known{{{100}, {config(kSmall, 100, WinnerRole::best)}},
                                        {{200}, {config(kLarge, 100, WinnerRole::best), other}}};
  const std::vector<NearConfig> ranked = rank_nearest(known, ShapeDims{199}, any);
  ASSERT_EQ(ranked.size(), 3U);
  EXPECT_EQ(ranked[0].id.config.text(), kLarge);
  EXPECT_EQ(ranked[1].id.implementation_hash, "impl");
  EXPECT_EQ(ranked[2].id.implementation_hash, "older") << "five times as slow near by: believed of itself first";
}

TEST(Nearest, a_config_that_was_never_timed_is_expected_to_do_as_its_likes_do) {
  const std::vector<ShapeSummary> known{{{100}, {config(kSmall, 100, WinnerRole::best), config(kLarge, 200)}}};
  const NearestPredictor expectation(known, ShapeDims{100});
  EXPECT_NEAR(expectation.loss({"impl", Config::parse(kSmall)}), 0, 0.03);
  EXPECT_NEAR(expectation.loss({"impl", Config::parse("tiled{block=70}")}), 0, 0.03);
  EXPECT_NEAR(expectation.loss({"impl", Config::parse("tiled{block=300}")}), std::log(2.0), 0.01);
  EXPECT_NEAR(expectation.loss({"impl", Config::parse("tiled{block=1048576}")}), std::log(2.0), 0.01)
      << "far from all that is known, as the least far";
  EXPECT_DOUBLE_EQ(NearestPredictor({}, ShapeDims{100}).loss({"impl", Config::parse(kSmall)}), std::log(2.0));
}

TEST(ConfigAxes, another_implementation_is_half_a_doubling_away) {
  ConfigAxes axes;
  for (const char* implementation : {"one", "other"}) axes.add(implementation, Config::parse(kSmall));
  const std::vector<float> one = axes.place_of("one", Config::parse(kSmall));
  const std::vector<float> other = axes.place_of("other", Config::parse(kSmall));
  double squares = 0;
  for (std::size_t i = 0; i < one.size(); ++i) squares += std::pow(one[i] - other[i], 2);
  EXPECT_NEAR(std::sqrt(squares), 0.5, 1e-6);
}

TEST(Nearest, a_shape_two_doublings_farther_tells_less_and_not_nothing) {
  const std::vector<ShapeSummary> known{{{100}, {config(kSmall, 100, WinnerRole::best)}},
                                        {{400}, {config(kLarge, 100, WinnerRole::best), config(kSmall, 110)}}};
  const NearestPredictor expectation(known, ShapeDims{100});
  EXPECT_LT(expectation.loss({"impl", Config::parse(kLarge)}), 0.3);
  EXPECT_LT(expectation.loss({"impl", Config::parse(kSmall)}), expectation.loss({"impl", Config::parse(kLarge)}));
}

TEST(Nearest, what_fits_the_shape_goes_before_what_fitted_the_shapes_around) {
  // 100 divides only 200, and 300 is like it; by distance alone all three would be equally good.
  std::vector<ShapeSummary> many;
  for (int i = 0; i < 40; ++i) {
    for (ShapeSummary& shape : of_padding(1)) many.push_back(std::move(shape));
  }
  const std::vector<NearConfig> ranked = rank_nearest(many, ShapeDims{300}, any, {}, kLeastRisk, by_blocks);
  ASSERT_EQ(ranked.size(), 3U);
  EXPECT_EQ(ranked[0].id.config.text(), "tiled{block=100}");
  EXPECT_EQ(rank_nearest(many, ShapeDims{300}, any)[0].id.config.text(), "tiled{block=64}");
}

TEST(Nearest, what_was_never_timed_is_ranked_when_the_caller_names_it) {
  const std::vector<ShapeSummary> known{
      {{100}, {config("tiled{block=32}", 150), config("tiled{block=128}", 150, WinnerRole::best)}}};
  const std::vector<NearConfig> ranked =
      rank_nearest(known, ShapeDims{120}, any, {config("tiled{block=64}", 0), config("tiled{block=128}", 0)});
  ASSERT_EQ(ranked.size(), 3U) << "what was timed is there once";
  for (const NearConfig& each : ranked) {
    EXPECT_EQ(each.is_stored, each.id.config.text() != "tiled{block=64}");
    EXPECT_EQ(each.has_binary, each.role.has_value());
    EXPECT_EQ(each.tuned_for, ShapeDims{100});
  }
}

TEST(Nearest, of_several_shapes_one_where_a_binary_is_kept_goes_before_a_nearer_one) {
  ConfigSummary kept = config(kSmall, 100);
  kept.has_binary = true;
  const std::vector<ShapeSummary> known{{{100}, {config(kSmall, 100)}}, {{1000}, {kept}}, {{4000}, {kept}}};
  const std::vector<NearConfig> ranked = rank_nearest(known, ShapeDims{100}, any);
  ASSERT_EQ(ranked.size(), 1U);
  EXPECT_TRUE(ranked[0].has_binary);
  EXPECT_EQ(ranked[0].tuned_for, ShapeDims{1000});
}

TEST(Nearest, a_spare_has_no_time_and_must_promise_more) {
  ConfigSummary spare = config(kLarge, 0);
  spare.has_binary = spare.is_spare = true;
  const std::vector<ShapeSummary> known{{{64, 64}, {config(kSmall, 100, WinnerRole::best), spare}}};
  const std::vector<NearConfig> ranked = rank_nearest(known, ShapeDims{64, 128}, any);
  ASSERT_EQ(ranked.size(), 2U);
  EXPECT_EQ(ranked[0].id.config.text(), kSmall) << "a time of 0 is none";
  EXPECT_TRUE(ranked[1].has_binary);
  EXPECT_GT(ranked[1].expected_loss, ranked[0].expected_loss + kLeastRisk);
  EXPECT_NEAR(rank_nearest(known, ShapeDims{64, 128}, any, {}, 0.5)[1].expected_loss - ranked[1].expected_loss,
              0.5 - kLeastRisk, 1e-12);
}

TEST(Nearest, what_failed_is_not_taken_untried) {
  ConfigSummary failed = config(kLarge, 0);
  failed.has_failed = true;
  ConfigSummary spare = config(kLarge, 0);
  spare.has_binary = spare.is_spare = true;
  const std::vector<ShapeSummary> known{{{64, 64}, {config(kSmall, 100, WinnerRole::best), failed}},
                                        {{64, 128}, {spare}}};
  const std::vector<NearConfig> ranked = rank_nearest(known, ShapeDims{64, 100}, any, {config(kLarge, 0)});
  ASSERT_EQ(ranked.size(), 1U);
  EXPECT_EQ(ranked[0].id.config.text(), kSmall);
}

TEST(Nearest, the_risk_of_what_nobody_timed_is_what_promises_failed_by) {
  EXPECT_EQ(untimed_risk({}), kLeastRisk);
  // Each shape has a config that was timed only there, similar to the winner and slower by half.
  std::vector<ShapeSummary> known;
  for (std::int64_t i = 0; i < 4; ++i) {
    known.push_back(
        {{64 << i, 64},
         {config(kSmall, 100, WinnerRole::best), config("tiled{block=" + std::to_string(65 + i) + "}", 150)}});
  }
  EXPECT_NEAR(untimed_risk(known), std::log(1.5), 0.2);
  for (ShapeSummary& shape : known) shape.configs[1].median_ns = 101;
  EXPECT_EQ(untimed_risk(known), kLeastRisk);
}

TEST(Servers, are_winners_first_and_then_spares_that_failed_nowhere_each_config_once) {
  const auto spare = [](const std::string& text) {
    ConfigSummary known = test::config(text, 0);
    known.is_spare = known.has_binary = true;
    return known;
  };
  ConfigSummary failed = test::config("tiled{block=8}", 0);
  failed.has_failed = true;
  const std::vector<ShapeSummary> known{
      {{8, 8}, {spare("tiled{block=4}"), spare("tiled{block=8}"), test::config("tiled{block=1}", 5, WinnerRole::base)}},
      {{8, 64},
       {test::config("tiled{block=4}", 7, WinnerRole::best), test::config("tiled{block=2}", 9, WinnerRole::best),
        test::config("tiled{block=16,static_dims=1}", 9, WinnerRole::dynamic), test::config("tiled{block=32}", 9)}},
      {{64, 64},
       {failed, spare("tiled{block=64}"), test::config("tiled{block=16,static_dims=1}", 9, WinnerRole::best)}}};
  std::vector<std::string> texts;
  for (const StoredConfig& each : servers_of(known)) {
    texts.push_back(std::to_string(each.tuned_for[0]) + "x" + std::to_string(each.tuned_for[1]) + " " +
                    (each.role ? std::string(name(*each.role)) : "spare") + " " + each.id.config.text());
  }
  EXPECT_THAT(texts, testing::ElementsAre("8x64 best tiled{block=4}", "8x64 dynamic tiled{block=16,static_dims=1}",
                                          "64x64 best tiled{block=16,static_dims=1}", "64x64 spare tiled{block=64}"))
      << "of two winners of a role the first, of specialised ones each";
}

}  // namespace
}  // namespace tilewright::nearest_test
