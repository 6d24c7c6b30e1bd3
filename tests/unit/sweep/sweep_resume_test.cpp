// SPDX-License-Identifier: Apache-2.0
#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>
#include <utility>

#include "tests/unit/sweep/sweep_fixture.hpp"

namespace tilewright::testing {
namespace {

using SweepResume = SweepFixture;

TEST_F(SweepResume, measures_nothing_the_second_time) {
  FakeDevice device;
  (void)sweep(device);
  const std::vector<Winner> before = winners(device);
  FakeDevice second;
  const SweepSummary summary = sweep(second);
  EXPECT_EQ(summary.measured, 0U);
  EXPECT_EQ(summary.reused, kConfigs);
  EXPECT_EQ(summary.compiled, 0U);
  EXPECT_EQ(second.timed, 0);
  EXPECT_EQ(second.fake_compiler.compiles, 0);
  const std::vector<Winner> after = winners(device);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i].trial.id, before[i].trial.id);
}

TEST_F(SweepResume, compiles_again_what_leads_and_has_no_binary) {
  FakeDevice device;
  (void)sweep(device);
  const std::vector<Trial> whole = trials(device);
  std::filesystem::remove(folder / "cache.db");
  // As in packs, where losing configs have no build. Here one leads.
  request.max_trials = 1;
  (void)sweep(device);
  const std::string& hash = request.definition->implementations.front().hash;
  {
    Store store = open();
    for (Trial trial : whole) {
      trial.build_key.clear();
      trial.sweep = 0;
      trial.look = LookLength::whole;
      if (trial.timing) store.put_trial(key(device), hash, trial);
    }
  }
  request.max_trials = 0;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.without_winner, 0U);
  const Trial best = winners(device).at(0).trial;
  EXPECT_EQ(best.config.text(), kBest);
  ASSERT_FALSE(best.build_key.empty());
  EXPECT_FALSE(open().binary(open().build(best.build_key)->binary_hash).empty());
}

// As after a merge, which keeps the winner of one cache and takes the faster trials of another.
TEST_F(SweepResume, crowns_what_is_known_to_be_faster_than_the_stored_winner) {
  FakeDevice device;
  (void)sweep(device);
  const std::vector<Trial> whole = trials(device);
  const auto slow = std::ranges::find(whole, "plain{fault=0,speed=5,static_dims=0}",
                                      [](const Trial& trial) { return trial.config.text(); });
  ASSERT_NE(slow, whole.end());
  std::vector<Winner> merged = winners(device);
  for (Winner& winner : merged) {
    if (winner.role != WinnerRole::base) winner.trial = *slow;
  }
  open().put_winners(key(device), request.mode, merged);
  ASSERT_NE(winners(device).at(0).trial.config.text(), kBest);
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.measured, 0U);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

// As from packs, which lack the binaries of configs that lost.
TEST_F(SweepResume, times_what_it_crowns_where_its_binary_is_lacking) {
  FakeDevice device;
  (void)sweep(device);
  std::vector<Winner> bare = winners(device);
  const std::string& hash = request.definition->implementations.front().hash;
  for (Winner& winner : bare) {
    winner.trial.build_key.clear();
    winner.trial.id = open().put_trial(key(device), hash, winner.trial);
  }
  open().put_winners(key(device), request.mode, bare);
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.measured, 0U);
  for (const Winner& winner : winners(device)) {
    ASSERT_FALSE(winner.trial.build_key.empty()) << winner.trial.config.text();
    EXPECT_TRUE(open().build(winner.trial.build_key)->ok);
  }
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

TEST_F(SweepResume, goes_on_after_an_interrupt_where_it_stopped) {
  FakeDevice device;
  const SweepSummary first = sweep(device, [this] { return listener.trials.size() >= 4; });
  EXPECT_TRUE(first.interrupted);
  EXPECT_EQ(first.measured, 4U);
  EXPECT_EQ(trials(device).size(), 4U);
  EXPECT_TRUE(winners(device).empty());

  const SweepSummary second = sweep(device);
  EXPECT_FALSE(second.interrupted);
  EXPECT_EQ(second.reused, 4U);
  EXPECT_EQ(second.measured, kConfigs - 4);
  EXPECT_EQ(trials(device).size(), kConfigs);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

TEST_F(SweepResume, keeps_no_trial_that_an_interrupt_cut_short) {
  FakeDevice device;
  bool stop = false;
  device.before_timing = [&] { stop = device.timed == 2; };
  const SweepSummary summary = sweep(device, [&] { return stop; });
  EXPECT_TRUE(summary.interrupted);
  for (const Trial& trial : trials(device)) {
    if (trial.timing) {
      EXPECT_GE(open().trial(trial.id)->timing->rounds_ns.size(), 5U);
    }
  }
  EXPECT_EQ(trials(device).size(), summary.measured);
}

TEST_F(SweepResume, chooses_winners_when_only_they_were_missing) {
  FakeDevice device;
  (void)sweep(device);
  open().put_winners(key(device), request.mode, {});
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.measured, 0U);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

// During the first sweep's fourth trial, another sweep of the same cache runs from begin to end.
TEST_F(SweepResume, takes_what_another_sweep_has_stored_meanwhile) {
  FakeDevice device;
  SweepSummary inner;
  bool once = true;
  device.before_timing = [&] {
    if (device.timed < 3 || !std::exchange(once, false)) return;
    FakeDevice second;
    Store store = open();
    Listener other;
    inner = run_sweep(request, catalogue, second, store, other, {});
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  };
  const SweepSummary outer = sweep(device);
  EXPECT_FALSE(once);
  EXPECT_GT(inner.reused, 0U);
  EXPECT_GT(outer.reused, 0U);
  EXPECT_LT(outer.measured, kConfigs / 2);
  EXPECT_EQ(outer.measured + outer.reused, kConfigs);
  const std::string twice =
      "SELECT count(*) FROM (SELECT 1 FROM trials WHERE look <> 'final' GROUP BY config, look HAVING count(*) > 1)";
  EXPECT_EQ(SQLite::Database((folder / "cache.db").string()).execAndGet(twice).getInt(), 0)
      << "the config that both were at";
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

// A child process ends at its k-th measurement as if by kill -9; the next one continues. After each, the cache is
// intact.
TEST_F(SweepResume, loses_at_most_the_trial_in_flight_when_it_is_killed) {
  use_shapes("n=100,200");
  std::size_t known = 0;
  for (const int at : {0, 1, 3}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      FakeDevice device;
      device.before_timing = [&] {
        if (device.timed == at) std::raise(SIGKILL);
      };
      (void)sweep(device);
      std::_Exit(0);  // not reached: there is always a measurement left
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    FakeDevice device;
    EXPECT_NO_THROW(open().check());
    const std::size_t now = trials(device, 0).size() + trials(device, 1).size();
    EXPECT_GE(now, known + static_cast<std::size_t>(at));
    known = now;
  }
  FakeDevice device;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.reused, known);
  EXPECT_EQ(summary.measured + summary.reused, 2 * kConfigs);
  EXPECT_EQ(trials(device, 0).size(), kConfigs);
  EXPECT_EQ(winners(device, 0).at(0).trial.config.text(), kBest);
  EXPECT_EQ(winners(device, 1).at(0).trial.config.text(), kBest);
}

}  // namespace
}  // namespace tilewright::testing
