// SPDX-License-Identifier: Apache-2.0
#include "cache/predict/losses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tests/unit/predict/known_shapes.hpp"

namespace tilewright::losses_test {
namespace {

using test::by_blocks;
using test::config;
using test::kLarge;
using test::kSmall;
using test::of_m_alone;
using test::of_padding;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<double> weights_of(const std::vector<ShapeSummary>& known) { return dim_weights(known, losses_of(known)); }

double cost_of(const std::vector<ShapeSummary>& known, const LogPadding& padding) {
  const std::vector<Losses> losses = losses_of(known);
  return cost_of_padding(losses, paddings_of(known, losses, padding));
}

TEST(Losses, are_over_the_fastest_of_the_shape_and_of_what_was_timed_alone) {
  const ShapeSummary shape{{8}, {config(kSmall, 100), config(kLarge, 150), config("tiled{block=8}", 0)}};
  const Losses losses = losses_at(shape);
  ASSERT_EQ(losses.size(), 2U) << "a time of 0 is none";
  EXPECT_DOUBLE_EQ(losses.at(shape.configs[0].id), 0);
  EXPECT_DOUBLE_EQ(losses.at(shape.configs[1].id), std::log(1.5));
}

TEST(Losses, a_dim_matters_as_much_as_a_doubling_of_it_costs) {
  const std::vector<double> weights = weights_of(of_m_alone());
  EXPECT_THAT(weights, ElementsAre(DoubleNear(0.7 / 6, 0.03), DoubleNear(0.002, 0.01)))
      << "six doublings of m cost the most that counts, those of n nothing";
}

TEST(Losses, where_nothing_is_known_of_ways_all_dims_matter_alike) {
  EXPECT_THAT(weights_of({}), IsEmpty());
  EXPECT_THAT(weights_of({{{8, 16}, {config(kSmall, 100, WinnerRole::best)}}}), ElementsAre(0.05, 0.05));
}

TEST(Losses, a_way_counts_less_the_farther_it_goes) {
  const double lost = 100 * std::exp(0.2);
  const std::vector<ShapeSummary> known{{{8}, {config(kSmall, 100, WinnerRole::best)}},
                                        {{16}, {config(kLarge, 100), config(kSmall, lost)}},
                                        {{2048}, {config(kLarge, 100), config(kSmall, lost)}}};
  // A pair one doubling apart counts a half, eight apart a ninth; with the pull to the default weight.
  const double weight = (0.05 + 0.2 / 2 + 8 * 0.2 / 9) / (1 + 1.0 / 2 + 64.0 / 9);
  EXPECT_THAT(weights_of(known), ElementsAre(DoubleNear(weight, 1e-6)));
}

TEST(Losses, what_a_dim_costs_is_what_the_others_leave_of_it_and_never_nothing) {
  const std::vector<ShapeSummary> known{{{1, 1}, {config(kSmall, 100, WinnerRole::best)}},
                                        {{64, 1}, {config(kLarge, 100), config(kSmall, 200)}},
                                        {{64, 64}, {config(kSmall, 100)}}};
  // Six doublings of m cost log 2, and with six of n nothing: n would have a negative weight.
  const double m = (0.05 + 6 * std::log(2.0) / 7 - 6 * 6 * 0.002 / 13) / (1 + 36.0 / 7 + 36.0 / 13);
  EXPECT_THAT(weights_of(known), ElementsAre(DoubleNear(m, 1e-6), DoubleNear(0.002, 1e-9)));
}

TEST(Losses, what_padding_costs_is_from_nothing_to_all_of_it) {
  const LogPadding padding = [](const ConfigId& of, std::span<const std::int64_t> dims) {
    return of.config == Config::parse(kSmall) && dims[0] == 8 ? 0.3 : 0.0;
  };
  const auto cost_where = [&](double at_padded, double elsewhere) {
    std::vector<ShapeSummary> known;
    for (int i = 0; i < 200; ++i) {
      known.push_back({{8}, {config(kLarge, 100), config(kSmall, 100 * std::exp(at_padded))}});
      known.push_back({{16}, {config(kLarge, 100), config(kSmall, 100 * std::exp(elsewhere))}});
    }
    return cost_of(known, padding);
  };
  EXPECT_EQ(cost_where(0, 0.5), 0) << "what is padded is faster";
  EXPECT_EQ(cost_where(0.9, 0), 1) << "what is padded loses three times what it pads";
}

TEST(Losses, what_padding_costs_is_learned) {
  EXPECT_NEAR(cost_of(of_padding(0), by_blocks), 0, 1e-9);
  EXPECT_EQ(cost_of(of_padding(1), {}), 0) << "nobody knows of any";
  std::vector<ShapeSummary> many;
  for (int i = 0; i < 40; ++i) {
    for (ShapeSummary& shape : of_padding(1)) many.push_back(std::move(shape));
  }
  EXPECT_GT(cost_of(many, by_blocks), 0.6) << "the losses are over the best of a shape, which is padded, too";
  EXPECT_LE(cost_of(many, by_blocks), 1);
  EXPECT_NEAR(cost_of(of_padding(1), by_blocks), 0.0931, 1e-4) << "few say little: 0.1026 / (1 + 0.1026)";
}

}  // namespace
}  // namespace tilewright::losses_test
