// SPDX-License-Identifier: Apache-2.0
// Import of winners; spares: import_spares_test.cpp, learned models: import_models_test.cpp.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/store/evidence.hpp"
#include "cache/store/export.hpp"
#include "cache/store/import.hpp"
#include "cache/store/sqlite/database.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/store/import_fixture.hpp"

namespace tilewright::import_test {
namespace {

using namespace store_tests;
using ::testing::HasSubstr;

TEST_F(ImportedWinners, brings_winners_with_trials_rounds_builds_and_binaries) {
  put_best(from, key, evidence(from, onchip_config(4)));
  from.put_ceiling(key.device_fingerprint, {1024, 2, MeasureMode::cold, std::nullopt, 40, "GPU-1", 7});
  from.put_compute_rate(key.device_fingerprint, {6e13, "chains{}", "GPU-1", 7});
  from.put_compute_rate(key.device_fingerprint, {8e14, "warpgroup{}", "GPU-1", 7, "tensor_f16"});
  from.put_compute_rate(key.device_fingerprint, {9e14, "warpgroup{}", "GPU-1", 7, "tensor_bf16"});
  to.put_device(h200());
  to.put_compute_rate(key.device_fingerprint, {7e14, "warp{}", "GPU-2", 6, "tensor_f16"});
  const auto done = import_winners(from, to);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].op, "softmax");
  EXPECT_EQ(done[0].device, key.device_fingerprint);
  EXPECT_EQ(done[0].added, 1U);
  to.check();
  const auto winners = to.winners(key, MeasureMode::cold);
  ASSERT_EQ(winners.size(), 2U);
  EXPECT_EQ(winners[0].trial.id, winners[1].trial.id) << "one trial in two roles stays one";
  EXPECT_EQ(winners[0].runner_up, onchip_config(32));
  EXPECT_EQ(winners[0].configs_considered, 24);
  const Trial trial = to.trial(winners[0].trial.id).value();
  EXPECT_EQ(trial.timing->rounds_ns.size(), 20U);
  EXPECT_EQ(trial.sweep, 0);
  EXPECT_EQ(to.binary(to.build(trial.build_key)->binary_hash), kBinary);
  EXPECT_EQ(to.interface_of("softmax")->hash(), key.interface_hash);
  EXPECT_EQ(to.implementation_by_hash("impl-1")->recipe.name, "onchip");
  EXPECT_EQ(to.ceiling(key.device_fingerprint, 1024, 2, MeasureMode::cold)->copy_op_ns, 40);
  EXPECT_EQ(to.compute_rate(key.device_fingerprint)->flops_per_second, 6e13);
  EXPECT_EQ(to.compute_rate(key.device_fingerprint, "tensor_bf16")->flops_per_second, 9e14);
  EXPECT_EQ(to.compute_rate(key.device_fingerprint, "tensor_f16")->flops_per_second, 7e14) << "its own";
}

TEST_F(ImportedWinners, leave_behind_what_the_compiler_said_of_a_binary) {
  put_best(from, key, evidence(from, onchip_config(4)));
  const std::string build = winner(from).build_key;
  EXPECT_NE(from.build(build)->log, "");
  import_winners(from, to);
  EXPECT_EQ(to.build(build)->log, "");
  EXPECT_TRUE(to.build(build)->ok);
}

TEST_F(ImportedWinners, a_second_time_changes_nothing) {
  put_best(from, key, evidence(from, onchip_config(4)));
  (void)import_winners(from, to);
  const Store::Counts before = to.counts();
  const auto done = import_winners(from, to);
  EXPECT_EQ(done[0].same, 1U);
  EXPECT_EQ(done[0].added + done[0].replaced + done[0].kept, 0U);
  EXPECT_EQ(to.counts().trials, before.trials);
  EXPECT_EQ(to.counts().binaries, before.binaries);
}

TEST_F(ImportedWinners, the_better_evidence_stays_whichever_cache_has_it) {
  put_best(from, key, evidence(from, onchip_config(4), 0.02));
  Store other = prepared_store(folder / "other.db");
  put_best(other, key, evidence(other, onchip_config(8), 0.01));
  EXPECT_EQ(import_winners(from, other)[0].kept, 1U);
  EXPECT_EQ(winner(other).config, onchip_config(8));
  EXPECT_EQ(other.counts().trials, 2) << "the time of what did not win comes along";
  EXPECT_EQ(import_winners(other, from)[0].replaced, 1U);
  EXPECT_EQ(winner(from).config, onchip_config(8));
  EXPECT_EQ(from.counts().trials, 2) << "and what lost its place stays as a trial";
}

TEST_F(ImportedWinners, that_differ_are_told_with_the_evidence_of_both) {
  put_best(from, key, evidence(from, onchip_config(4), 0.02));
  Store other = prepared_store(folder / "other.db");
  put_best(other, key, evidence(other, onchip_config(8), 0.01));
  std::vector<Conflict> conflicts;
  (void)import_winners(from, other, {}, &conflicts);
  ASSERT_EQ(conflicts.size(), 1U);
  EXPECT_EQ(conflicts[0].problem, key.problem.key());
  EXPECT_EQ(conflicts[0].device, key.device_fingerprint);
  EXPECT_EQ(conflicts[0].here.config, onchip_config(8));
  EXPECT_EQ(conflicts[0].there.config, onchip_config(4));
  EXPECT_EQ(conflicts[0].there.timing->rounds_ns.size(), 20U);
  EXPECT_FALSE(conflicts[0].replaced);
  conflicts.clear();
  (void)import_winners(other, from, {}, &conflicts);
  ASSERT_EQ(conflicts.size(), 1U);
  EXPECT_TRUE(conflicts[0].replaced);
  conflicts.clear();
  (void)import_winners(other, from, {}, &conflicts);
  EXPECT_TRUE(conflicts.empty()) << "now they are the same";
}

TEST_F(ImportedWinners, of_one_config_are_no_conflict) {
  put_best(from, key, evidence(from, onchip_config(4), 0.02));
  Store other = prepared_store(folder / "other.db");
  Trial later = evidence(other, onchip_config(4), 0.01);
  later.measured_at += 60;
  put_best(other, key, later);
  std::vector<Conflict> conflicts;
  EXPECT_EQ(import_winners(other, from, {}, &conflicts)[0].replaced, 1U);
  EXPECT_TRUE(conflicts.empty());
}

TEST_F(ImportedWinners, of_different_devices_never_mix) {
  const ProblemKey elsewhere = softmax_key(8, 100, a100());
  put_best(from, key, evidence(from, onchip_config(4), 0.001));
  Store other = prepared_store(folder / "other.db");
  put_best(other, elsewhere, evidence(other, onchip_config(8), 0.5, 3));
  EXPECT_EQ(import_winners(from, other)[0].added, 1U);
  EXPECT_EQ(other.winners(elsewhere, MeasureMode::cold).at(0).trial.config, onchip_config(8));
  EXPECT_EQ(winner(other).config, onchip_config(4));
}

TEST_F(ImportedWinners, reuses_a_trial_that_came_from_here) {
  put_best(from, key, evidence(from, onchip_config(4)));
  (void)import_winners(from, to);
  const std::int64_t first = winner(to).id;
  to.put_winners(key, MeasureMode::cold, {});
  EXPECT_EQ(import_winners(from, to)[0].added, 1U);
  EXPECT_EQ(winner(to).id, first);
  EXPECT_EQ(to.counts().trials, 1);
}

TEST_F(ImportedWinners, serve_by_a_trial_that_is_right_where_the_same_was_found_wrong_here) {
  const Trial right = evidence(from, onchip_config(4));
  put_best(from, key, right);
  to.put_interface(softmax_interface());
  to.put_device(h200());
  to.put_implementation(softmax_interface().hash(), onchip());
  Trial wrong = evidence(to, onchip_config(4));
  wrong.status = TrialStatus::wrong_result;
  const std::int64_t found_wrong = to.put_trial(key, "impl-1", wrong);
  EXPECT_EQ(import_winners(from, to)[0].added, 1U);
  EXPECT_NE(winner(to).id, found_wrong);
  EXPECT_EQ(winner(to).status, TrialStatus::ok);
}

TEST_F(ImportedWinners, leave_the_interface_in_use_what_it_was) {
  put_best(from, key, evidence(from, onchip_config(4)));
  OpInterface newer = softmax_interface();
  newer.dims = {"n", "cols"};
  newer.args.clear();
  to.put_interface(newer);
  EXPECT_EQ(import_winners(from, to)[0].added, 1U);
  EXPECT_EQ(to.interface_of("softmax")->hash(), newer.hash());
  EXPECT_TRUE(to.interface_by_hash(key.interface_hash).has_value());
}

TEST_F(ImportedWinners, of_interfaces_no_longer_in_use_stay_behind) {
  put_best(from, key, evidence(from, onchip_config(4)));
  OpInterface newer = softmax_interface();
  newer.args.clear();
  from.put_interface(newer);
  EXPECT_TRUE(import_winners(from, to).empty());
}

TEST_F(ImportedWinners, takes_the_ops_and_devices_asked_for) {
  put_best(from, key, evidence(from, onchip_config(4)));
  put_best(from, softmax_key(8, 100, a100()), evidence(from, onchip_config(8)));
  EXPECT_TRUE(import_winners(from, to, {.ops = {"gemm"}}).empty());
  const auto done = import_winners(from, to, {.devices = {a100().fingerprint()}});
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].device, a100().fingerprint());
  EXPECT_EQ(to.counts().winners, 2);
}

TEST_F(ImportedWinners, are_all_there_or_none_is) {
  put_best(from, key, evidence(from, onchip_config(4)));
  put_best(from, softmax_key(9, 100), evidence(from, onchip_config(8)));
  {
    OtherProgram damaged((folder / "from.db"));
    damaged.exec(
        "PRAGMA foreign_keys = OFF; UPDATE trials SET build = NULL; UPDATE rounds SET nanoseconds = x'00' "
        "WHERE trial = 2");
  }
  EXPECT_THAT(refusal([&] { (void)import_winners(from, to); }), HasSubstr("rounds"));
  EXPECT_EQ(to.counts().winners, 0);
  EXPECT_EQ(to.counts().trials, 0);
  EXPECT_EQ(to.counts().interfaces, 0);
}

Winner winner_with(std::size_t rounds, double half, std::int64_t at, int configs) {
  Winner made;
  made.trial = full_trial(onchip_config(4));
  made.trial.timing->rounds_ns.assign(rounds, 1000);
  made.trial.timing->low_ns = 1000 - half;
  made.trial.timing->high_ns = 1000 + half;
  made.trial.measured_at = at;
  made.configs_considered = configs;
  return made;
}

TEST(BetterEvidence, is_first_of_all_to_be_faster_than_the_base_by_more_steps_of_3_per_cent) {
  const auto winner = [](double base_ns, double median_ns, int configs) {
    Winner made = winner_with(8, 1, 1, configs);
    made.base_ns = base_ns;
    made.trial.timing->median_ns = median_ns;
    return made;
  };
  const Winner of_many = winner(3000, 1000, 90);
  EXPECT_TRUE(better_evidence(winner(3000, 900, 5), of_many)) << "a config that the larger sweep did not have";
  EXPECT_FALSE(better_evidence(of_many, winner(3000, 900, 5)));
  EXPECT_TRUE(better_evidence(of_many, winner(2700, 900, 5))) << "that GPU is faster, and no config";
  EXPECT_TRUE(better_evidence(of_many, winner(3000, 990, 5))) << "sweeps of the same code differ by so much";
  Winner baseless = winner(0, 10, 5);
  baseless.base_ns.reset();
  EXPECT_TRUE(better_evidence(of_many, baseless));
}

TEST(BetterEvidence, counts_steps_of_any_two_times) {
  EXPECT_EQ(speed_steps(103.1, 100.0), 1);
  EXPECT_EQ(speed_steps(100.0, 100.0), 0);
  EXPECT_EQ(speed_steps(99.0, 100.0), -1);
  EXPECT_EQ(speed_steps(std::nullopt, 100.0), 0);
  EXPECT_EQ(speed_steps(100.0, std::nullopt), 0);
  EXPECT_EQ(speed_steps(1e300, 1e-300), speed_steps(1e300, 1e-200)) << "as many as there can be";
}

TEST(BetterEvidence, is_then_more_configs_that_ran_then_enough_rounds_then_the_narrower_interval_then_the_later) {
  const auto trial = [](std::size_t rounds, double half, std::int64_t at, int configs = 90) {
    return winner_with(rounds, half, at, configs);
  };
  EXPECT_TRUE(better_evidence(trial(8, 2, 1), trial(8, 1, 2, 1))) << "one config is no choice";
  EXPECT_TRUE(better_evidence(trial(7, 1, 1, 91), trial(8, 1, 2))) << "more configs outweigh a longer final";
  Winner cut_short = trial(8, 1, 2, 90);
  cut_short.choice.pruned[kNotReached] = 70;
  EXPECT_TRUE(better_evidence(trial(8, 2, 1, 21), cut_short)) << "what no time was left for was no choice";
  EXPECT_FALSE(better_evidence(cut_short, trial(8, 2, 1, 21)));
  Winner of_few = trial(8, 1, 2, 90);
  of_few.configs_failed = 70;
  EXPECT_TRUE(better_evidence(trial(8, 2, 1, 21), of_few)) << "what failed was no choice";
  EXPECT_FALSE(better_evidence(of_few, trial(8, 2, 1, 21)));
  EXPECT_TRUE(better_evidence(trial(8, 9, 1), trial(7, 1, 2)));
  EXPECT_FALSE(better_evidence(trial(7, 1, 2), trial(8, 9, 1)));
  EXPECT_TRUE(better_evidence(trial(8, 1, 1), trial(100, 2, 2)));
  EXPECT_TRUE(better_evidence(trial(8, 1, 3), trial(8, 1, 2)));
  EXPECT_FALSE(better_evidence(trial(8, 1, 2), trial(8, 1, 2)));
  Winner untimed = trial(8, 1, 9);
  untimed.trial.timing.reset();
  EXPECT_TRUE(better_evidence(trial(1, 9, 1), untimed));
  EXPECT_FALSE(better_evidence(untimed, trial(1, 9, 1)));
}

TEST(ExportWinners, is_one_file_that_opens_where_nothing_may_be_written) {
  const TemporaryFolder folder;
  Store from = prepared_store(folder / "from.db");
  const ProblemKey key = softmax_key(8, 100);
  put_best(from, key, evidence(from, onchip_config(4)));
  (void)from.put_trial(key, "impl-1", full_trial(onchip_config(8)));
  (void)from.put_trial(key, "impl-1", full_trial(onchip_config(8)));
  std::filesystem::create_directory(folder / "out");
  EXPECT_EQ(export_winners(from, folder / "out/e.db")[0].added, 1U);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out"))
    names.push_back(entry.path().filename());
  EXPECT_EQ(names, std::vector<std::string>{"e.db"});
  EXPECT_EQ(SQLite::Database((folder / "out/e.db").string()).execAndGet("PRAGMA journal_mode").getString(), "delete");
  std::filesystem::permissions(folder / "out/e.db", std::filesystem::perms(0444));
  std::filesystem::permissions(folder / "out", std::filesystem::perms(0555));
  EXPECT_EQ(as_nobody([&] {
              const Store made(folder / "out/e.db", {.access = StoreAccess::read});
              made.check();
              const auto row = made.winner_of(key, MeasureMode::cold, WinnerRole::best);
              return row && row->winner.trial.config == onchip_config(4) && made.counts().trials == 2 ? 0 : 1;
            }),
            0)
      << "the winner's, and the newest of the other config";
  std::filesystem::permissions(folder / "out", std::filesystem::perms(0755));
}

TEST(ExportWinners, leaves_behind_when_they_were_made) {
  const TemporaryFolder folder;
  Store from = prepared_store(folder / "from.db");
  const std::int64_t sweep = from.begin_sweep("tilewright sweep softmax", h200().fingerprint());
  const std::vector<std::byte> binary(8, std::byte{1});
  from.put_build({"k1", true, "", {}, "", "NVRTC 13.0", "sm_90", 1, sweep, 3, 1'763'000'000'000'001}, binary);
  Trial trial = full_trial(onchip_config(4));
  trial.build_key = "k1";
  trial.sweep = sweep;
  trial.phases = {1'763'000'000'123'456, 0, 1'500, 20'000};
  Winner winner;
  winner.trial.id = from.put_trial(softmax_key(8, 100), "impl-1", trial);
  from.put_winners(softmax_key(8, 100), MeasureMode::cold, {winner});
  ASSERT_EQ(export_winners(from, folder / "e.db")[0].added, 1U);
  const Store made(folder / "e.db", {.access = StoreAccess::read});
  const Build build = made.build("k1").value();
  EXPECT_EQ(build.sweep, 0);
  EXPECT_EQ(build.worker, std::nullopt);
  EXPECT_EQ(build.began_us, std::nullopt);
  EXPECT_EQ(made.winner_of(softmax_key(8, 100), MeasureMode::cold, WinnerRole::best)->winner.trial.phases,
            std::nullopt);
  EXPECT_EQ(from.build("k1")->worker, 3);
  EXPECT_EQ(from.build("k1")->sweep, sweep);
}

TEST(ExportTrials, is_a_recording_with_every_round_and_nothing_to_serve) {
  const TemporaryFolder folder;
  Store from = prepared_store(folder / "from.db");
  put_winner(from, softmax_key(8, 64), onchip_config(4));
  Trial failed = full_trial(onchip_config(8));
  failed.status = TrialStatus::wrong_result;
  failed.timing.reset();
  from.put_trial(softmax_key(8, 64), "impl-1", failed);
  Trial pruned;
  pruned.status = TrialStatus::pruned;
  pruned.config = onchip_config(16);
  from.put_trial(softmax_key(8, 64), "impl-1", pruned);
  const std::vector<OpCounts> done = export_trials(from, folder / "rec.db");
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].added, 1U);
  const Store made(folder / "rec.db", {.access = StoreAccess::read});
  EXPECT_EQ(made.counts().trials, 2) << "what was never tried cannot be replayed";
  EXPECT_EQ(made.counts().winners, 0);
  EXPECT_EQ(made.counts().builds, 0);
  const auto tried = made.tried("softmax");
  ASSERT_EQ(tried.size(), 1U);
  EXPECT_EQ(tried[0].key.problem, softmax_problem(8, 64));
  EXPECT_EQ(tried[0].key.device_fingerprint, h200().fingerprint());
  EXPECT_EQ(tried[0].implementation_hashes, std::vector<std::string>{"impl-1"});
  const auto trials = made.trials(tried[0].key, tried[0].implementation_hashes, tried[0].mode);
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(made.trial(trials[0].id)->timing->rounds_ns, full_trial(onchip_config(4)).timing->rounds_ns);
  EXPECT_EQ(trials[1].status, TrialStatus::wrong_result);
  EXPECT_TRUE(made.tried("gemm").empty());
}

TEST(ExportWinners, of_nothing_writes_nothing) {
  const TemporaryFolder folder;
  const Store from = prepared_store(folder / "from.db");
  EXPECT_TRUE(export_winners(from, folder / "e.db").empty());
  EXPECT_FALSE(std::filesystem::exists(folder / "e.db"));
  EXPECT_FALSE(std::filesystem::exists(folder / "e.db.new"));
}

TEST(StoreCopy, is_of_one_moment_and_of_an_older_schema_too) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  Store live = prepared_store(path);
  put_best(live, softmax_key(8, 100), evidence(live, onchip_config(4)));
  Store copy(path, {.access = StoreAccess::copy});
  put_best(live, softmax_key(9, 100), evidence(live, onchip_config(4)));
  EXPECT_EQ(copy.counts().problems, 1);
  copy.check();
  EXPECT_THAT(refusal([&] { copy.put_interface(gemm_interface()); }), HasSubstr("for reading only"));

  const auto old = folder / "old.db";
  { const Database first(old, {}, Surroundings{migrations().first(1), {}}); }
  const auto before = folder.content();
  EXPECT_EQ(Store(old, {.access = StoreAccess::copy}).counts().schema, schema_version());
  EXPECT_EQ(folder.content(), before);
}

TEST(StoreBatch, is_rolled_back_unless_committed) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  {
    Store::Batch batch(store);
    put_best(store, softmax_key(8, 100), full_trial(onchip_config(4)));
    EXPECT_EQ(store.winners(softmax_key(8, 100), MeasureMode::cold).size(), 2U) << "its own writes are seen";
  }
  EXPECT_EQ(store.counts().winners, 0);
  {
    Store::Batch batch(store);
    EXPECT_THAT(refusal([&] { const Store::Batch second(store); }), HasSubstr("a batch of writes already"));
    put_best(store, softmax_key(8, 100), full_trial(onchip_config(4)));
    batch.commit();
  }
  EXPECT_EQ(store.counts().winners, 2);
}

}  // namespace
}  // namespace tilewright::import_test
