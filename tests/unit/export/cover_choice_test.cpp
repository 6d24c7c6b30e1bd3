// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/cover_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cache/base/error.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright {
namespace {

using namespace store_tests;

/// Three shapes of softmax with the same columns; config 4 is the base.
class Cover : public ::testing::Test {
 protected:
  /// Adds a shape with times of configs by their number of warps; the fastest is the winner.
  void shape(std::int64_t rows, const std::vector<std::pair<int, double>>& times, std::int64_t cols = 100,
             std::int64_t static_dims = 0, const std::string& hash = "impl-1") {
    const ProblemKey key = softmax_key(rows, cols);
    std::vector<std::pair<double, std::int64_t>> ids;
    for (const auto& [warps, time] : times) {
      ids.emplace_back(time, store.put_trial(key, hash, full_trial(onchip_config(warps, static_dims), time)));
    }
    const std::int64_t base = store.put_trial(key, hash, full_trial(onchip_config(1, 0), 5000));
    store.put_winners(key, MeasureMode::cold,
                      {winner_of(std::ranges::min(ids).second), winner_of(base, WinnerRole::base)});
  }
  std::string best(const CoverChoice& choice, std::int64_t rows, WinnerRole role = WinnerRole::best) const {
    for (const WinnerRow& row : choice.rows) {
      if (row.winner.role == role && row.problem.dim("rows") == rows) return row.winner.trial.config.text();
    }
    return "none";
  }

  TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
};

TEST_F(Cover, takes_one_config_that_is_nearly_the_best_everywhere) {
  shape(8, {{2, 1000}, {8, 1040}});
  shape(16, {{4, 1000}, {8, 1030}});
  shape(32, {{16, 1000}, {8, 1100}});
  const auto choices = choose_cover(store, 1.05, {}, false);
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(choices[0].shapes, 3U);
  EXPECT_EQ(choices[0].winners, 4U) << "three and the base";
  EXPECT_EQ(choices[0].chosen, 3U) << "8 warps, 16 warps and the base";
  EXPECT_TRUE(choices[0].proven);
  EXPECT_EQ(best(choices[0], 8), onchip_config(8, 0).text());
  EXPECT_EQ(best(choices[0], 16), onchip_config(8, 0).text());
  EXPECT_EQ(best(choices[0], 32), onchip_config(16, 0).text());
  EXPECT_EQ(best(choices[0], 32, WinnerRole::base), onchip_config(1, 0).text());
  EXPECT_NEAR(choices[0].worst_ratio, 1.04, 1e-9);
  EXPECT_NEAR(choices[0].mean_ratio, std::cbrt(1.04 * 1.03), 1e-9);
}

TEST_F(Cover, of_ratio_one_keeps_every_winner) {
  shape(8, {{2, 1000}, {8, 1040}});
  shape(16, {{4, 1000}, {8, 1030}});
  const auto choices = choose_cover(store, 1, {}, false);
  EXPECT_EQ(choices.at(0).chosen, 3U);
  EXPECT_EQ(choices.at(0).worst_ratio, 1);
  EXPECT_THROW((void)choose_cover(store, 0.9, {}, false), UsageError);
}

TEST_F(Cover, of_two_that_do_takes_the_faster) {
  shape(8, {{2, 1000}, {4, 1030}, {8, 1020}, {16, 1040}});
  shape(16, {{32, 1000}, {4, 1030}, {8, 1020}, {16, 1040}});
  const auto choices = choose_cover(store, 1.05, {}, false);
  EXPECT_EQ(choices.at(0).chosen, 2U);
  EXPECT_EQ(best(choices[0], 8), onchip_config(8, 0).text());
  EXPECT_NEAR(choices[0].worst_ratio, 1.02, 1e-9);
}

TEST_F(Cover, takes_the_base_for_nothing) {
  shape(8, {{2, 4990}});
  EXPECT_EQ(choose_cover(store, 1.05, {}, false).at(0).chosen, 1U);
}

TEST_F(Cover, counts_a_specialised_config_once_for_each_value_of_its_dims) {
  StoredImplementation specialised = onchip("impl-s");
  specialised.recipe.specialize = {"cols"};
  store.put_implementation(softmax_interface().hash(), specialised);
  shape(8, {{2, 1000}}, 100, 1, "impl-s");
  shape(16, {{2, 1000}}, 100, 1, "impl-s");
  shape(8, {{2, 1000}}, 200, 1, "impl-s");
  const auto choices = choose_cover(store, 1.05, {}, false);
  EXPECT_EQ(choices.at(0).winners, 3U);
  EXPECT_EQ(choices.at(0).chosen, 3U);
  EXPECT_EQ(best(choices[0], 16, WinnerRole::dynamic), onchip_config(1, 0).text()) << "the base has no such dims";
}

TEST_F(Cover, looks_at_whole_measurements_that_succeeded) {
  shape(8, {{2, 1000}});
  shape(16, {{4, 1000}});
  Trial brief = full_trial(onchip_config(8, 0), 900);
  brief.look = LookLength::brief;
  Trial failed = full_trial(onchip_config(16, 0), 900);
  failed.status = TrialStatus::wrong_result;
  for (const std::int64_t rows : {8, 16}) {
    store.put_trial(softmax_key(rows, 100), "impl-1", brief);
    store.put_trial(softmax_key(rows, 100), "impl-1", failed);
  }
  EXPECT_EQ(choose_cover(store, 1.05, {}, false).at(0).chosen, 3U);
}

TEST_F(Cover, needs_binaries_where_it_is_to_be_shipped) {
  shape(8, {{2, 1000}});
  EXPECT_TRUE(choose_cover(store, 1.05, {}, true).empty()) << "none of the trials has a build";
}

TEST_F(Cover, of_an_edited_implementation_takes_what_was_measured_last) {
  shape(8, {{2, 1000}});
  store.put_implementation(softmax_interface().hash(), onchip("impl-2"));
  const ProblemKey key = softmax_key(8, 100);
  const std::int64_t id = store.put_trial(key, "impl-2", full_trial(onchip_config(32, 0), 1500));
  store.put_winners(key, MeasureMode::cold, {winner_of(id)});
  EXPECT_EQ(best(choose_cover(store, 1.05, {}, false).at(0), 8), onchip_config(32, 0).text());
}

}  // namespace
}  // namespace tilewright
