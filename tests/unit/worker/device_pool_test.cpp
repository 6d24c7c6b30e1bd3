// SPDX-License-Identifier: Apache-2.0
#include "tuner/worker/device_pool.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "tests/unit/sweep/sweep_fixture.hpp"

namespace tilewright::testing {
namespace {

using Names = std::vector<std::string>;

class DevicePools : public SweepFixture {
 protected:
  DevicePools() {
    request.compiler = &compiler;
    compiler.crashing_fails = true;
    use_shapes("n=100,200,300");
  }

  /// Settings for devices scripted by `behaviour` (device_worker.cpp).
  DeviceProcess::Settings settings(const std::string& behaviour) {
    DeviceProcess::Settings made;
    made.command = {TILEWRIGHT_TEST_DEVICE_WORKER, marker().string(), behaviour};
    made.note = [this](const std::string& line) {
      const std::lock_guard lock(mutex);
      notes.push_back(line);
    };
    return made;
  }
  [[nodiscard]] std::filesystem::path marker() const { return folder / "marker"; }
  /// Lets the slow devices open.
  void open_the_slow() const { std::ofstream(marker()) << "x"; }

  SweepSummary sweep_on(DevicePool& pool) {
    Store store = open();
    return run_sweep(request, catalogue, pool, store, listener, {});
  }

  FakeCompiler compiler;
  FakeDevice same{{.gpu = true}};
  std::mutex mutex;
  std::vector<std::string> notes;
};

TEST_F(DevicePools, begin_with_the_first_that_is_open_and_know_what_is_to_come) {
  DevicePool pool({"cuda:0", "cuda:1"}, settings("cuda:0=gpu,cuda:1=slow"));
  EXPECT_EQ(pool.first().name(), "cuda:0");
  EXPECT_EQ(pool.fingerprints(), Names{same.facts().fingerprint()});
  const Devices::State before = pool.state();
  EXPECT_EQ(before.open.size(), 1U);
  ASSERT_EQ(before.awaited.size(), 1U);
  EXPECT_EQ(before.awaited[0].name, "cuda:1");
  EXPECT_EQ(before.awaited[0].uuid, "GPU-0001");
  EXPECT_EQ(before.awaited[0].fingerprint, same.facts().fingerprint());
  open_the_slow();
  pool.wait_for_all();
  const Devices::State after = pool.state();
  ASSERT_EQ(after.open.size(), 2U);
  EXPECT_EQ(after.open[1]->gpu_uuid(), "GPU-0001");
  EXPECT_TRUE(after.awaited.empty());
}

TEST_F(DevicePools, sweep_on_those_that_are_open_and_give_up_what_is_not_when_all_is_done) {
  DevicePool pool({"cuda:0", "cuda:1"}, settings("cuda:0=hung,cuda:1=gpu"));
  const SweepSummary summary = sweep_on(pool);
  EXPECT_EQ(summary.problems, 3U);
  EXPECT_TRUE(summary.lost.empty());
  EXPECT_TRUE(pool.lost().empty());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(winners(same, i).at(0).trial.gpu_uuid, "GPU-0001");
  ASSERT_FALSE(listener.notes.empty());
  EXPECT_EQ(listener.notes.back(), "cuda:0 was still opening when its work was done");
}

TEST_F(DevicePools, tell_once_of_one_that_cannot_be_opened) {
  DevicePool pool({"cuda:0", "cuda:1", "cuda:2"}, settings("cuda:0=closed,cuda:1=gpu,cuda:2=gpu"));
  pool.wait_for_all();
  EXPECT_EQ(pool.state().open.size(), 2U);
  const Names told{"cuda:0 could not be opened: there is no such GPU"};
  EXPECT_EQ(pool.lost(), told);
  EXPECT_EQ(notes, told);
  EXPECT_EQ(sweep_on(pool).problems, 3U);
}

TEST_F(DevicePools, that_are_all_lost_say_why_the_first_was) {
  EXPECT_THROW(
      try {
        const DevicePool pool({"cuda:0", "cuda:1"}, settings("cuda:0=closed,cuda:1=closed"));
      } catch (const DeviceError& error) {
        EXPECT_STREQ(error.what(), "there is no such GPU");
        throw;
      },
      DeviceError);
  EXPECT_EQ(notes, Names{});
}

TEST_F(DevicePools, of_all_gpus_need_not_the_first_one) {
  DevicePool pool({"all"}, settings("cuda:0=closed,cuda:1=gpu,cuda:2=gpu"));
  pool.wait_for_all();
  std::set<std::string> names;
  for (const TrialDevice* each : pool.state().open) names.insert(each->name());
  EXPECT_EQ(names, (std::set<std::string>{"cuda:1", "cuda:2"}));
  EXPECT_EQ(pool.lost(), Names{"cuda:0 could not be opened: there is no such GPU"});
}

TEST_F(DevicePools, of_all_gpus_open_each_once_though_the_first_is_started_anew) {
  DevicePool pool({"all"}, settings("cuda:0=shot,cuda:1=gpu"));
  pool.wait_for_all();
  std::multiset<std::string> names;
  for (const TrialDevice* each : pool.state().open) names.insert(each->name());
  EXPECT_EQ(names, (std::multiset<std::string>{"cuda:0", "cuda:1"}));
}

TEST_F(DevicePools, end_at_once_whatever_is_still_being_opened) {
  const auto start = std::chrono::steady_clock::now();
  { const DevicePool pool({"cuda:0", "cuda:1"}, settings("cuda:0=gpu,cuda:1=hung")); }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

}  // namespace
}  // namespace tilewright::testing
