// SPDX-License-Identifier: Apache-2.0
#include "cache/nearest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tilewright {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

KnownConfig config(const std::string& text, double median_ns, std::optional<WinnerRole> role = std::nullopt) {
  return {"impl", Config::parse(text), median_ns, role};
}

const std::string kSmall = "tiled{block=64}";
const std::string kLarge = "tiled{block=256}";

/// Two dims: the winner changes with m and not with n.
std::vector<KnownShape> of_m_alone() {
  std::vector<KnownShape> known;
  for (const std::int64_t m : {64, 4096}) {
    for (const std::int64_t n : {64, 1024, 16384}) {
      const bool small = m == 64;
      known.push_back(
          {{m, n}, {config(small ? kSmall : kLarge, 100, WinnerRole::best), config(small ? kLarge : kSmall, 300)}});
    }
  }
  return known;
}

bool any(const KnownConfig&, const ShapeDims&) { return true; }

TEST(Nearest, shapes_are_ordered_by_the_doublings_between) {
  const std::vector<ShapeDims> shapes{{1, 1024}, {1024, 1024}, {8, 512}, {8, 2048}};
  EXPECT_THAT(nearest_shapes(shapes, ShapeDims{8, 1024}, 3),
              ElementsAre(ShapeDims{8, 512}, ShapeDims{8, 2048}, ShapeDims{1, 1024}));
  EXPECT_THAT(nearest_shapes({}, ShapeDims{8, 1024}), IsEmpty());
  EXPECT_THAT(nearest_shapes({{7}}, ShapeDims{8, 1024}), IsEmpty()) << "of another number of dims";
}

TEST(Nearest, a_dim_matters_as_much_as_a_doubling_of_it_costs) {
  const std::vector<double> weights = dim_weights(of_m_alone());
  EXPECT_THAT(weights, ElementsAre(DoubleNear(0.7 / 6, 0.03), DoubleNear(0.002, 0.01)))
      << "six doublings of m cost the most that counts, those of n nothing";
}

TEST(Nearest, where_nothing_is_known_of_ways_all_dims_matter_alike) {
  EXPECT_THAT(dim_weights({}), IsEmpty());
  EXPECT_THAT(dim_weights({{{8, 16}, {config(kSmall, 100, WinnerRole::best)}}}), ElementsAre(0.05, 0.05));
}

TEST(Nearest, the_winner_of_shapes_alike_in_what_matters_goes_first) {
  const std::vector<NearConfig> ranked = rank_nearest(of_m_alone(), ShapeDims{128, 1 << 20}, any);
  ASSERT_EQ(ranked.size(), 2U);
  EXPECT_EQ(ranked[0].config.text(), kSmall);
  EXPECT_EQ(ranked[0].tuned_for, (ShapeDims{64, 16384})) << "of several where it is a winner the nearest";
  EXPECT_LT(ranked[0].expected_loss, 0.1);
  EXPECT_GT(ranked[1].expected_loss, 0.5);
}

TEST(Nearest, a_config_that_did_badly_near_by_yields_to_one_that_did_well_all_around) {
  const std::string sure = "tiled{block=128}";
  const std::vector<KnownShape> known{
      {{100}, {config(kSmall, 100, WinnerRole::best), config(sure, 101)}},
      {{200}, {config(sure, 100, WinnerRole::best), config(kSmall, 250)}},
      {{50}, {config(sure, 100, WinnerRole::best), config(kSmall, 250)}},
  };
  EXPECT_EQ(rank_nearest(known, ShapeDims{120}, any).at(0).config.text(), sure);
}

TEST(Nearest, bases_and_what_the_caller_refuses_are_left_out) {
  const std::vector<KnownShape> known{
      {{100}, {config(kSmall, 100, WinnerRole::best), config(kLarge, 300, WinnerRole::base)}},
      {{200}, {config(kSmall, 100, WinnerRole::dynamic)}},
  };
  const auto only_200 = [](const KnownConfig&, const ShapeDims& tuned_for) { return tuned_for == ShapeDims{200}; };
  const std::vector<NearConfig> ranked = rank_nearest(known, ShapeDims{100}, only_200);
  ASSERT_EQ(ranked.size(), 1U);
  EXPECT_EQ(ranked[0].tuned_for, ShapeDims{200});
  EXPECT_EQ(ranked[0].role, WinnerRole::dynamic);
}

TEST(Nearest, the_same_text_of_another_implementation_is_another_config) {
  KnownConfig other = config(kSmall, 500);
  other.implementation_hash = "older";
  const std::vector<KnownShape> known{{{100}, {config(kSmall, 100, WinnerRole::best)}},
                                      {{200}, {config(kLarge, 100, WinnerRole::best), other}}};
  const std::vector<NearConfig> ranked = rank_nearest(known, ShapeDims{199}, any);
  EXPECT_EQ(ranked.at(0).config.text(), kLarge);
  EXPECT_NEAR(ranked.at(1).expected_loss, std::log(2.0), 0.1) << "unknown at 200, and not five times as slow";
}

}  // namespace
}  // namespace tilewright
