// SPDX-License-Identifier: Apache-2.0
#include "tuner/worker/device_process.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "tests/unit/sweep/sweep_fixture.hpp"
#include "tuner/sweep/failure.hpp"

namespace tilewright::testing {
namespace {

class DeviceProcesses : public SweepFixture {
 protected:
  DeviceProcess::Settings settings(const std::string& name) {
    DeviceProcess::Settings made;
    made.command = {TILEWRIGHT_TEST_DEVICE_WORKER, (folder / "marker").string(), name};
    made.timeout = std::chrono::minutes(2);
    made.note = [this](const std::string& line) { notes.push_back(line); };
    return made;
  }

  SweepSummary sweep_in(DeviceProcess& process, const std::function<bool()>& interrupted = {}) {
    request.compiler = &compiler;
    Store store = open();
    return run_sweep(request, catalogue, process, store, listener, interrupted);
  }

  FakeCompiler compiler;
  /// A device with the facts of the worker's.
  FakeDevice same{{.gpu = true}};
  std::vector<std::string> notes;
};

TEST_F(DeviceProcesses, tell_which_device_they_have) {
  const DeviceProcess process(settings("gpu"));
  EXPECT_EQ(process.facts(), same.facts());
  EXPECT_EQ(process.name(), "cuda:0");
  EXPECT_EQ(process.gpu_uuid(), "GPU-0000");
}

TEST_F(DeviceProcesses, that_cannot_open_it_say_why) {
  EXPECT_THROW(
      try { const DeviceProcess process(settings("closed")); } catch (const DeviceError& error) {
        EXPECT_STREQ(error.what(), "there is no such GPU");
        throw;
      },
      DeviceError);
  EXPECT_THROW(
      try { const DeviceProcess process(settings("dead")); } catch (const DeviceError& error) {
        EXPECT_NE(std::string(error.what()).find("signal 6"), std::string::npos) << error.what();
        throw;
      },
      DeviceError);
}

TEST_F(DeviceProcesses, finish_a_sweep_in_which_a_config_takes_the_context_with_it) {
  DeviceProcess process(settings("gpu"));
  const SweepSummary summary = sweep_in(process);
  EXPECT_EQ(summary.without_winner, 0U);
  EXPECT_EQ(trial_of(same, Fault::crash).status, TrialStatus::crashed);
  EXPECT_EQ(trial_of(same, Fault::compile).status, TrialStatus::compile_failed);
  EXPECT_EQ(trial_of(same, Fault::wrong_result).status, TrialStatus::wrong_result);
  EXPECT_EQ(trial_of(same, Fault::timed_out).status, TrialStatus::timed_out);
  EXPECT_EQ(trial_of(same, Fault::refused).status, TrialStatus::exceeds_limits);
  EXPECT_EQ(trial_of(same, Fault::wrong_in_place).status, TrialStatus::wrong_result);
  EXPECT_EQ(winners(same).at(0).trial.config.text(), kBest);
  EXPECT_EQ(trial_of(same, Fault::none).gpu_uuid, "GPU-0000");
  EXPECT_GT(process.generation(), 2) << "twice for the crash";
}

TEST_F(DeviceProcesses, that_end_once_cost_no_config_its_trial) {
  DeviceProcess process(settings("moody"));
  const SweepSummary summary = sweep_in(process);
  EXPECT_EQ(summary.without_winner, 0U);
  EXPECT_EQ(winners(same).at(0).trial.config.text(), kBest);
  for (const Trial& trial : trials(same)) {
    EXPECT_EQ(trial.reason.find("signal 6"), std::string::npos) << trial.config.text();
  }
  ASSERT_FALSE(notes.empty());
  EXPECT_NE(notes.front().find("crashed once, and not again in a new process"), std::string::npos) << notes.front();
}

TEST_F(DeviceProcesses, lose_one_config_that_garbles_what_its_process_says) {
  for (const char* name : {"garbage", "huge", "list", "strange", "unheard", "lost"}) {
    SCOPED_TRACE(name);
    std::filesystem::remove_all(folder / "cache.db");
    DeviceProcess process(settings(name));
    const SweepSummary summary = sweep_in(process);
    EXPECT_EQ(summary.without_winner, 0U);
    EXPECT_EQ(winners(same).at(0).trial.config.text(), kBest);
    const Trial lost = trial_of(same, Fault::crash);
    EXPECT_EQ(lost.status, TrialStatus::crashed);
    EXPECT_NE(lost.reason.find("its process sent an invalid message"), std::string::npos) << lost.reason;
    EXPECT_EQ(sweep_in(process).measured, 0U) << "it is known, and not tried again";
  }
}

TEST_F(DeviceProcesses, whose_machine_has_no_room_and_no_memory_end_the_sweep_and_blame_no_config) {
  for (const auto& [name, why] : {std::pair("full", "No space left on device"), {"poor", "memory is exhausted"}}) {
    SCOPED_TRACE(name);
    std::filesystem::remove_all(folder / "cache.db");
    DeviceProcess process(settings(name));
    try {
      (void)sweep_in(process);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
    for (const Trial& trial : trials(same)) {
      EXPECT_NE(trial.config.value_or("fault", 0), static_cast<int>(Fault::crash)) << "the next sweep tries it";
    }
  }
}

TEST_F(DeviceProcesses, that_do_not_get_on_are_stopped_and_the_config_has_timed_out) {
  DeviceProcess::Settings impatient = settings("stuck");
  impatient.timeout = std::chrono::seconds(2);
  DeviceProcess process(impatient);
  const SweepSummary summary = sweep_in(process);
  EXPECT_EQ(summary.without_winner, 0U);
  int stopped = 0;
  for (const Trial& trial : trials(same)) {
    if (trial.reason.find("made no progress for 2 s") == std::string::npos) continue;
    EXPECT_EQ(trial.status, TrialStatus::timed_out);
    ++stopped;
  }
  EXPECT_EQ(stopped, 1);
}

TEST_F(DeviceProcesses, are_started_again_when_one_is_killed_before_it_has_said_a_word) {
  DeviceProcess process(settings("shot"));
  EXPECT_EQ(process.facts(), same.facts());
  EXPECT_TRUE(std::filesystem::exists(folder / "marker")) << "once";
}

TEST_F(DeviceProcesses, are_replaced_when_something_else_kills_them) {
  DeviceProcess process(settings("gpu"));
  std::size_t killed = 0;
  const SweepSummary summary = sweep_in(process, [&] {
    if (listener.trials.size() > killed && process.process() > 0) {
      ::kill(process.process(), SIGKILL);
      killed = listener.trials.size() + 2;
    }
    return false;
  });
  EXPECT_EQ(summary.without_winner, 0U);
  EXPECT_GT(killed, 4U);
  for (const Trial& trial : trials(same)) {
    EXPECT_EQ(trial.reason.find("signal 9"), std::string::npos) << trial.config.text();
  }
  EXPECT_EQ(winners(same).at(0).trial.config.text(), kBest);
}

TEST_F(DeviceProcesses, end_at_once_when_interrupted) {
  DeviceProcess::Settings stuck = settings("stuck");
  stuck.timeout = std::chrono::minutes(10);
  std::atomic<bool> stop = false;
  stuck.interrupted = [&] { return stop.load(); };
  DeviceProcess process(stuck);
  std::jthread later([&] {
    while (!std::filesystem::exists(folder / "marker")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop = true;
  });
  const SweepSummary summary = sweep_in(process, stuck.interrupted);
  EXPECT_TRUE(summary.interrupted);
  EXPECT_LT(summary.wall_seconds.count(), 30);
  EXPECT_EQ(trials(same).size(), summary.measured);
}

TEST_F(DeviceProcesses, that_cannot_be_replaced_end_the_sweep_with_what_to_do) {
  DeviceProcess::Settings gone = settings("gpu");
  const std::filesystem::path worker = folder / "worker";
  std::filesystem::copy_file(gone.command.front(), worker);
  gone.command.front() = worker.string();
  DeviceProcess process(gone);
  std::filesystem::remove(worker);
  process.discard();
  EXPECT_THROW(
      try { (void)sweep_in(process); } catch (const DeviceLost& error) {
        EXPECT_NE(std::string(error.what()).find("run the same command once more"), std::string::npos);
        throw;
      },
      DeviceLost);
}

TEST_F(DeviceProcesses, of_which_one_is_lost_for_good_leave_its_problem_to_the_other) {
  use_shapes("n=100,200,300");
  request.compiler = &compiler;
  request.max_configs = 4;
  DeviceProcess sound(settings("gpu"));
  DeviceProcess doomed(settings("doomed"));
  ASSERT_EQ(doomed.gpu_uuid(), "GPU-0001");
  const std::vector<TrialDevice*> both{&doomed, &sound};
  Store store = open();
  const SweepSummary summary = run_sweep(request, catalogue, both, store, listener, {});
  EXPECT_EQ(summary.problems, 3U);
  EXPECT_EQ(summary.left, 0U);
  ASSERT_EQ(summary.lost.size(), 1U);
  EXPECT_NE(summary.lost.front().find("cuda:1 (GPU-0001) was lost"), std::string::npos) << summary.lost.front();
  EXPECT_NE(summary.lost.front().find("fallen off the bus"), std::string::npos) << summary.lost.front();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(winners(same, i).at(0).trial.gpu_uuid, "GPU-0000");
}

}  // namespace
}  // namespace tilewright::testing
