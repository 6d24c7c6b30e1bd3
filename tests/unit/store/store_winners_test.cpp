// SPDX-License-Identifier: Apache-2.0
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/store/fixture.hpp"

namespace tilewright::store_winners_test {
namespace {

using namespace store_tests;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StoreWinners : public testing::Test {
 protected:
  std::int64_t put(const ProblemKey& of, std::int64_t num_warps, std::int64_t static_dims = 1) {
    return store.put_trial(of, "impl-1", full_trial(onchip_config(num_warps, static_dims)));
  }
  std::vector<std::string> keys(const Store::WinnerFilter& filter) const {
    std::vector<std::string> texts;
    for (const auto& row : store.list_winners(filter)) texts.push_back(row.problem.key());
    return texts;
  }

  TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const ProblemKey key = softmax_key(8, 100);
};

TEST_F(StoreWinners, who_was_served_first_stays_known) {
  const std::int64_t first = put(key, 4), base = put(key, 1, 0), second = put(key, 8);
  const auto serve = [&](std::int64_t best) {
    store.put_winners(key, MeasureMode::cold, {winner_of(best, WinnerRole::best), winner_of(base, WinnerRole::base)});
  };
  const auto served = [&] {
    std::vector<std::pair<std::int64_t, bool>> trials;
    for (const Store::FirstServed& one : store.served_first(key)) trials.emplace_back(one.trial.id, one.now);
    return trials;
  };
  EXPECT_TRUE(served().empty());
  serve(first);
  EXPECT_THAT(served(), ElementsAre(std::pair(first, true), std::pair(base, true)));
  serve(second);
  EXPECT_THAT(served(), ElementsAre(std::pair(second, true), std::pair(first, false), std::pair(base, true)));
  serve(first);
  EXPECT_THAT(served(), ElementsAre(std::pair(first, true), std::pair(second, false), std::pair(base, true)));
  EXPECT_TRUE(store.served_first(softmax_key(8, 200)).empty());
}

TEST_F(StoreWinners, winners_come_back_by_role_with_their_trials) {
  const std::int64_t best = put(key, 4), base = put(key, 1, 0), dynamic = put(key, 2, 0), other = put(key, 8, 0);
  store.put_winners(key, MeasureMode::cold,
                    {winner_of(base, WinnerRole::base), winner_of(dynamic, WinnerRole::dynamic),
                     winner_of(best, WinnerRole::best), winner_of(other, WinnerRole::dynamic)});
  const auto winners = store.winners(key, MeasureMode::cold);
  ASSERT_EQ(winners.size(), 4u);
  EXPECT_EQ(winners[0].role, WinnerRole::best);
  EXPECT_EQ(winners[0].trial.id, best);
  EXPECT_EQ(winners[0].trial.config, onchip_config(4));
  EXPECT_EQ(winners[0].trial.timing->median_ns, 1000);
  EXPECT_EQ(winners[0].runner_up, onchip_config(32));
  EXPECT_EQ(winners[0].runner_up_ratio, 1.25);
  EXPECT_EQ(winners[0].base_ns, 4000);
  EXPECT_EQ(winners[0].configs_considered, 24);
  EXPECT_EQ(winners[0].configs_failed, 2);
  EXPECT_EQ(winners[0].strategy, "exhaustive");
  EXPECT_EQ(winners[1].trial.id, dynamic);
  EXPECT_EQ(winners[2].trial.id, other);
  EXPECT_EQ(winners[3].role, WinnerRole::base);
  EXPECT_TRUE(store.winners(key, MeasureMode::hot).empty());
  EXPECT_TRUE(store.winners(softmax_key(8, 101), MeasureMode::cold).empty());
}

TEST_F(StoreWinners, what_a_winner_may_lack_comes_back_as_nothing) {
  Winner winner;
  winner.trial.id = put(key, 4);
  store.put_winners(key, MeasureMode::cold, {winner});
  const Winner found = store.winners(key, MeasureMode::cold).at(0);
  EXPECT_EQ(found.runner_up, std::nullopt);
  EXPECT_EQ(found.runner_up_ratio, std::nullopt);
  EXPECT_EQ(found.base_ns, std::nullopt);
  EXPECT_EQ(found.strategy, "");
}

TEST_F(StoreWinners, putting_winners_replaces_those_of_the_same_problem_device_and_mode_alone) {
  const std::int64_t first = put(key, 4), second = put(key, 8);
  const std::int64_t elsewhere = put_winner(store, softmax_key(8, 100, a100()), onchip_config(4));
  const std::int64_t hot = put_winner(store, key, onchip_config(4), WinnerRole::best, MeasureMode::hot);
  store.put_winners(key, MeasureMode::cold, {winner_of(first), winner_of(first, WinnerRole::base)});
  store.put_winners(key, MeasureMode::cold, {winner_of(second)});
  ASSERT_EQ(store.winners(key, MeasureMode::cold).size(), 1u);
  EXPECT_EQ(store.winners(key, MeasureMode::cold)[0].trial.id, second);
  EXPECT_EQ(store.winners(softmax_key(8, 100, a100()), MeasureMode::cold).at(0).trial.id, elsewhere);
  EXPECT_EQ(store.winners(key, MeasureMode::hot).at(0).trial.id, hot);
  store.put_winners(key, MeasureMode::cold, {});
  EXPECT_TRUE(store.winners(key, MeasureMode::cold).empty());
  EXPECT_EQ(store.counts().trials, 4) << "trials stay";
}

TEST_F(StoreWinners, a_winner_must_rest_on_a_trial_of_its_own_that_succeeded) {
  const std::int64_t good = put(key, 4);
  store.put_winners(key, MeasureMode::cold, {winner_of(good)});
  Trial wrong = full_trial(onchip_config(8));
  wrong.status = TrialStatus::wrong_result;
  const std::int64_t failed = store.put_trial(key, "impl-1", wrong);
  const std::int64_t other = put(softmax_key(8, 101), 4);
  const auto text = [&](std::int64_t id, MeasureMode mode = MeasureMode::cold) {
    return refusal([&] { store.put_winners(key, mode, {winner_of(id)}); });
  };
  EXPECT_THAT(text(failed), HasSubstr("which failed"));
  EXPECT_THAT(text(other), HasSubstr("of another problem"));
  EXPECT_THAT(text(good, MeasureMode::hot), HasSubstr("of another problem, device or mode"));
  EXPECT_THAT(text(999), HasSubstr("rests on trial 999, which is not stored"));
  EXPECT_EQ(store.winners(key, MeasureMode::cold).at(0).trial.id, good) << "the old ones stay when the new are refused";
}

TEST_F(StoreWinners, a_list_is_ordered_by_op_spec_and_dims_as_numbers) {
  store.put_interface(gemm_interface());
  store.put_implementation(gemm_interface().hash(), onchip("gemm-1"));
  put_winner(store, softmax_key(1024, 9, h200(), DType::bf16), onchip_config(4));
  put_winner(store, softmax_key(256, 1000), onchip_config(4));
  put_winner(store, softmax_key(256, 200), onchip_config(4));
  put_winner(store, softmax_key(256, 200, h200(), DType::f32), onchip_config(4));
  const ProblemKey gemm{{OpSpec{"gemm", DType::f16, {{"act", "gelu"}}}, {{"m", 1}, {"n", 2}}},
                        gemm_interface().hash(),
                        h200().fingerprint()};
  const std::int64_t id = store.put_trial(gemm, "gemm-1", full_trial(onchip_config(4)));
  store.put_winners(gemm, MeasureMode::cold, {winner_of(id)});
  EXPECT_THAT(keys({}), ElementsAre("gemm[dtype=f16,act=gelu]{m=1,n=2}", "softmax[dtype=f32]{rows=256,cols=200}",
                                    "softmax[dtype=bf16]{rows=256,cols=200}", "softmax[dtype=bf16]{rows=256,cols=1000}",
                                    "softmax[dtype=bf16]{rows=1024,cols=9}"));
  EXPECT_THAT(keys({.op = "gemm"}), ElementsAre("gemm[dtype=f16,act=gelu]{m=1,n=2}"));
  EXPECT_TRUE(keys({.op = "conv"}).empty());
}

TEST_F(StoreWinners, a_listed_row_says_everything_about_its_winner) {
  const std::int64_t id = put_winner(store, key, onchip_config(4));
  const auto rows = store.list_winners({});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].problem, key.problem);
  EXPECT_EQ(rows[0].interface_hash, key.interface_hash);
  EXPECT_EQ(rows[0].implementation_hash, "impl-1");
  EXPECT_EQ(rows[0].device, h200());
  EXPECT_EQ(rows[0].mode, MeasureMode::cold);
  EXPECT_EQ(rows[0].winner.role, WinnerRole::best);
  EXPECT_EQ(rows[0].winner.trial.id, id);
  EXPECT_EQ(rows[0].winner.trial.versions, versions());
}

TEST_F(StoreWinners, a_list_is_filtered_by_op_device_mode_and_role_together) {
  const std::int64_t a = put(key, 4), b = put(key, 1, 0);
  store.put_winners(key, MeasureMode::cold, {winner_of(a), winner_of(b, WinnerRole::base)});
  put_winner(store, key, onchip_config(4), WinnerRole::best, MeasureMode::hot);
  put_winner(store, softmax_key(8, 100, a100()), onchip_config(4));
  const auto count = [&](const Store::WinnerFilter& filter) { return store.list_winners(filter).size(); };
  EXPECT_EQ(count({}), 4u);
  EXPECT_EQ(count({.op = "softmax"}), 4u);
  EXPECT_EQ(count({.fingerprint = h200().fingerprint()}), 3u);
  EXPECT_EQ(count({.fingerprint = "GTX fictional"}), 0u);
  EXPECT_EQ(count({.mode = MeasureMode::cold}), 3u);
  EXPECT_EQ(count({.role = WinnerRole::base}), 1u);
  EXPECT_EQ(
      count(
          {.op = "softmax", .fingerprint = h200().fingerprint(), .mode = MeasureMode::cold, .role = WinnerRole::best}),
      1u);
}

TEST_F(StoreWinners, the_base_of_a_spec_is_the_one_with_the_newest_trial) {
  put_winner(store, softmax_key(8, 1), onchip_config(1, 0), WinnerRole::base);
  const std::int64_t newest = put_winner(store, softmax_key(8, 2), onchip_config(2, 0), WinnerRole::base);
  put_winner(store, softmax_key(8, 3, h200(), DType::f32), onchip_config(4, 0), WinnerRole::base);
  put_winner(store, softmax_key(8, 4, a100()), onchip_config(4, 0), WinnerRole::base);
  put_winner(store, softmax_key(8, 5), onchip_config(4, 0), WinnerRole::dynamic);
  const auto row = store.newest_of_spec(softmax_key(7, 7), MeasureMode::cold, WinnerRole::base);
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->winner.trial.id, newest);
  EXPECT_EQ(row->problem, softmax_problem(8, 2));
  EXPECT_FALSE(store.newest_of_spec(softmax_key(7, 7), MeasureMode::hot, WinnerRole::base).has_value());
  EXPECT_FALSE(store.winner_of(softmax_key(7, 7), MeasureMode::cold, WinnerRole::base).has_value());
  EXPECT_TRUE(store.winner_of(softmax_key(8, 5), MeasureMode::cold, WinnerRole::dynamic).has_value());
}

TEST_F(StoreWinners, people_can_read_them_with_sqlite_alone) {
  put_winner(store, key, onchip_config(4));
  SQLite::Database raw(store.path().string());
  SQLite::Statement view(raw, "SELECT problem, device, role, config, median_ns FROM winner_table");
  ASSERT_TRUE(view.executeStep());
  EXPECT_EQ(view.getColumn(0).getString(), key.problem.key());
  EXPECT_EQ(view.getColumn(1).getString(), h200().fingerprint());
  EXPECT_EQ(view.getColumn(2).getString(), "best");
  EXPECT_EQ(view.getColumn(3).getString(), onchip_config(4).text());
  EXPECT_EQ(view.getColumn(4).getDouble(), 1000);
}

TEST_F(StoreWinners, keep_how_they_were_chosen) {
  Trial trial = full_trial(onchip_config(4));
  trial.look = LookLength::final;
  Winner winner = winner_of(store.put_trial(key, "impl-1", trial));
  winner.choice.finalists = 3;
  winner.choice.margin_low = 1.001;
  winner.choice.margin_high = 1.004;
  winner.choice.tied = {onchip_config(8)};
  winner.choice.tie_broken_by = "softmax[dtype=bf16]{rows=8,cols=32}";
  winner.choice.pruned = {{"dropped", 7}};
  winner.choice.at = 1234;
  store.put_winners(key, MeasureMode::cold, {winner});
  const Winner read = store.winners(key, MeasureMode::cold).at(0);
  EXPECT_EQ(read.choice, winner.choice);
  EXPECT_EQ(read.trial.look, LookLength::final);
}

}  // namespace
}  // namespace tilewright::store_winners_test
