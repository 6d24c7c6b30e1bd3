// SPDX-License-Identifier: Apache-2.0
#include "cache/store/space.hpp"
#include "cache/store/whole_file.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>

#include "cache/store/job_queue.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright::space_test {
namespace {

using namespace store_tests;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kLongAgo = 1'700'000'000;

/// A cache of winners and losing configs, each with a binary.
class Space : public testing::Test {
 protected:
  /// Adds a trial with its own binary; returns its id.
  std::int64_t put(const Config& config, const std::string& implementation = "impl-1",
                   std::int64_t measured_at = kLongAgo, std::int64_t sweep = 0) {
    Trial trial = full_trial(config, 1000 + static_cast<double>(++made_));
    trial.sweep = sweep;
    trial.measured_at = measured_at;
    trial.build_key = "build " + std::to_string(made_);
    store_.put_build({.key = trial.build_key,
                      .ok = true,
                      .binary_hash = {},
                      .kernels = {},
                      .log = {},
                      .compiler = {},
                      .arch = "sm_90a"},
                     std::vector<std::byte>(5000 + made_, std::byte{7}));
    return store_.put_trial(key_, implementation, trial);
  }

  std::vector<Garbage> collect(GarbagePolicy policy = {}) { return WholeFile::collect_garbage(store_, policy); }
  static std::int64_t rows_of(const std::vector<Garbage>& garbage, const std::string& what) {
    const auto found = std::ranges::find(garbage, what, &Garbage::what);
    return found == garbage.end() ? 0 : found->rows;
  }
  [[nodiscard]] std::int64_t count(const std::string& table) const {
    const CacheSpace space = WholeFile::space(store_);
    return std::ranges::find(space.tables, table, &TableSpace::table)->rows;
  }

  const TemporaryFolder folder_;
  Store store_ = prepared_store(folder_ / "c.db");
  const ProblemKey key_ = softmax_key(8, 100);
  std::size_t made_ = 0;
};

TEST_F(Space, is_told_by_table_and_by_op_and_what_of_the_binaries_serves) {
  store_.put_winners(key_, MeasureMode::cold, {winner_of(put(onchip_config(4)))});
  put(onchip_config(8));
  const CacheSpace space = WholeFile::space(store_);
  EXPECT_EQ(count("trials"), 2);
  EXPECT_GT(space.serving_bytes, 0);
  EXPECT_GT(space.other_bytes, 0);
  EXPECT_EQ(space.first_trial, kLongAgo);
  std::int64_t pages = space.free_bytes;
  for (const TableSpace& table : space.tables) {
    EXPECT_EQ(table.damaged, 0) << table.table;
    pages += table.bytes + table.index_bytes;
  }
  EXPECT_NEAR(static_cast<double>(pages), static_cast<double>(space.file_bytes), 65536) << "but for the schema's own";
  const auto softmax = std::ranges::find(space.ops, "softmax", &OpSpace::op);
  ASSERT_NE(softmax, space.ops.end());
  EXPECT_EQ(softmax->trials, 2);
  EXPECT_EQ(softmax->binary_bytes, space.serving_bytes + space.other_bytes);
  EXPECT_EQ(softmax->serving_bytes, space.serving_bytes);
}

TEST_F(Space, garbage_is_what_serves_nothing_and_each_trial_stays) {
  store_.put_winners(key_, MeasureMode::cold,
                     {winner_of(put(onchip_config(4))), winner_of(put(onchip_config(2, 0)), WinnerRole::base)});
  const std::int64_t lost = put(onchip_config(8));
  const auto before = store_.winners(key_, MeasureMode::cold);
  const std::vector<Garbage> told = collect({.dry_run = true});
  EXPECT_EQ(rows_of(told, "builds"), 1);
  EXPECT_EQ(rows_of(told, "binaries"), 1);
  EXPECT_EQ(count("builds"), 3) << "so far it was only told";
  const std::vector<Garbage> taken = collect();
  ASSERT_EQ(taken.size(), told.size());
  for (std::size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i].bytes, told[i].bytes);
  EXPECT_EQ(count("binaries"), 2);
  EXPECT_EQ(store_.trial(lost)->build_key, "");
  EXPECT_EQ(store_.trial(lost)->timing->rounds_ns.size(), full_trial(onchip_config(8)).timing->rounds_ns.size());
  const auto after = store_.winners(key_, MeasureMode::cold);
  ASSERT_EQ(after.size(), before.size());
  for (const Winner& winner : after) {
    EXPECT_FALSE(store_.binary(store_.build(winner.trial.build_key)->binary_hash).empty());
  }
  EXPECT_THAT(collect(), IsEmpty()) << "what is left is needed";
  store_.check();
}

TEST_F(Space, a_spare_and_a_build_that_no_trial_has_yet_stay) {
  put(onchip_config(8, 0));
  store_.put_spare(key_, MeasureMode::cold, {onchip().hash, onchip_config(8, 0)}, "build 1");
  store_.put_build({"under way", true, "", {}, "", "NVRTC 13.0", "sm_90a", 1}, std::vector<std::byte>(9, std::byte{1}));
  EXPECT_THAT(collect(), IsEmpty());
}

TEST_F(Space, trials_of_an_edited_implementation_go_unless_something_serves_or_the_sources_have_it) {
  store_.put_implementation(key_.interface_hash, onchip("impl-0"));
  const std::int64_t old = put(onchip_config(8), "impl-0", kLongAgo - 100);
  const std::int64_t served = put(onchip_config(2), "impl-0", kLongAgo - 100);
  store_.put_winners(key_, MeasureMode::cold, {winner_of(served)});
  put(onchip_config(4));
  EXPECT_EQ(rows_of(collect({.dry_run = true}), "trials"), 0) << "of its implementation something serves";
  store_.put_winners(key_, MeasureMode::cold, {winner_of(put(onchip_config(2)))});
  EXPECT_EQ(rows_of(collect({.implementations = {"impl-0"}, .dry_run = true}), "trials"), 0);
  EXPECT_EQ(rows_of(collect(), "trials"), 1);
  EXPECT_FALSE(store_.trial(old));
  EXPECT_TRUE(store_.trial(served)) << "the past has it";
  EXPECT_TRUE(store_.implementation_by_hash("impl-0"));
  EXPECT_EQ(rows_of(collect({.past_winners = 0}), "implementations"), 1);
  EXPECT_FALSE(store_.implementation_by_hash("impl-0"));
  EXPECT_TRUE(store_.implementation_by_hash("impl-1"));
  store_.check();
}

TEST_F(Space, the_newest_past_winners_stay) {
  for (int i = 0; i < 5; ++i) {
    store_.put_winners(key_, MeasureMode::cold, {winner_of(put(onchip_config(4), "impl-1", kLongAgo + i))});
  }
  EXPECT_EQ(count("past_winners"), 4);
  EXPECT_EQ(rows_of(collect({.past_winners = 3}), "past winners"), 1);
  EXPECT_EQ(count("past_winners"), 3);
}

TEST_F(Space, nothing_is_taken_out_while_a_sweep_runs_and_a_killed_one_is_forgotten) {
  const std::int64_t sweep = store_.begin_sweep("sweep softmax", h200().fingerprint());
  put(onchip_config(8), "impl-1", std::time(nullptr), sweep);
  EXPECT_THAT(refusal([&] { collect(); }),
              testing::AllOf(HasSubstr("is written by a sweep (sweep softmax)"), HasSubstr("Nothing was removed")));
  store_.end_sweep(sweep, "done");
  EXPECT_EQ(rows_of(collect(), "builds"), 1);
}

TEST_F(Space, damaged_rows_go_with_what_rests_on_them_when_that_is_asked) {
  const std::int64_t winner = put(onchip_config(4));
  store_.put_winners(key_, MeasureMode::cold, {winner_of(winner)});
  damage_rows(folder_ / "c.db", "UPDATE trials SET median_ns = 1");
  Store store(folder_ / "c.db");
  const CacheSpace space = WholeFile::space(store);
  EXPECT_EQ(std::ranges::find(space.tables, "trials", &TableSpace::table)->damaged, 1);
  EXPECT_THAT(refusal([&] { (void)store.winners(key_, MeasureMode::cold); }), HasSubstr("row 1 of the table trials"));
  EXPECT_EQ(rows_of(WholeFile::collect_garbage(store, {}), "trials"), 0)
      << "it is reported, and not taken out by itself";
  const std::vector<Garbage> taken = WholeFile::collect_garbage(store, {.damaged = true});
  EXPECT_EQ(rows_of(taken, "trials"), 1);
  EXPECT_EQ(rows_of(taken, "winners"), 1);
  EXPECT_EQ(rows_of(taken, "rounds"), 1);
  store.check();
  EXPECT_THAT(store.winners(key_, MeasureMode::cold), IsEmpty());
}

TEST_F(Space, damaged_rows_of_the_queue_go_with_the_jobs_of_their_campaigns) {
  {
    JobQueue queue(folder_ / "c.db");
    for (int i = 0; i < 3; ++i) (void)queue.submit({.definition = "{}"}, std::vector<Job>(2));
    (void)queue.once("key", "hash", [] { return JobQueue::Answer{200, "text"}; });
  }
  damage_rows(
      folder_ / "c.db",
      "UPDATE campaigns SET name = 'x' WHERE id = 1; UPDATE jobs SET reason = 'x' WHERE campaign = 2 AND id = 3; "
      "UPDATE idempotency_keys SET answer = 'x'");
  const std::vector<Garbage> taken = collect({.damaged = true});
  EXPECT_EQ(rows_of(taken, "campaigns"), 1);
  EXPECT_EQ(rows_of(taken, "idempotency_keys"), 1);
  EXPECT_EQ(count("jobs"), 3) << "without a damaged one and those of the campaign";
  store_.check();
}

TEST_F(Space, the_file_becomes_smaller_while_a_reader_has_it_open) {
  store_.put_winners(key_, MeasureMode::cold, {winner_of(put(onchip_config(4)))});
  Trial big = full_trial(onchip_config(8));
  big.build_key.clear();
  big.sweep = 0;
  big.status = TrialStatus::compile_failed;
  big.timing.reset();
  big.reason = std::string(3'000'000, 'r');
  store_.put_implementation(key_.interface_hash, onchip("impl-0"));
  big.measured_at = kLongAgo - 9;
  store_.put_trial(key_, "impl-0", big);
  const Store reader(folder_ / "c.db", {.access = StoreAccess::read});
  const std::int64_t before = WholeFile::space(store_).file_bytes;
  EXPECT_EQ(rows_of(collect(), "trials"), 1);
  WholeFile::compact(store_);
  EXPECT_LT(WholeFile::space(store_).file_bytes, before - 2'000'000);
  EXPECT_EQ(reader.winners(key_, MeasureMode::cold).size(), 1U);
  EXPECT_TRUE(reader.changed());
}

TEST_F(Space, a_full_disk_leaves_the_file_as_it_is) {
  store_.put_winners(key_, MeasureMode::cold, {winner_of(put(onchip_config(4)))});
  EXPECT_EQ(wait_for(in_child([&] {
              Store store(folder_ / "c.db");
              const rlimit most{1 << 16, 1 << 16};
              (void)::signal(SIGXFSZ, SIG_IGN);
              (void)::setrlimit(RLIMIT_FSIZE, &most);
              const std::string text = refusal([&] { WholeFile::compact(store); });
              return text.find("make the cache smaller") != std::string::npos ? 0 : 1;
            })),
            0);
  store_.check();
  EXPECT_EQ(store_.winners(key_, MeasureMode::cold).size(), 1U);
}

}  // namespace
}  // namespace tilewright::space_test
