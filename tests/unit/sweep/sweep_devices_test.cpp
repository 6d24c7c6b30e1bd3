// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/unit/sweep/sweep_fixture.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/local_config_runner.hpp"

namespace tilewright::testing {
namespace {

class SweepDevices : public SweepFixture {
 protected:
  SweepDevices() {
    request.compiler = &compiler;
    use_shapes("n=64..1024+64");
    // So that no device finishes all before another begins.
    for (FakeDevice* each : {&first, &second}) {
      each->before_timing = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    }
  }

  SweepSummary sweep_on(const std::vector<FakeDevice*>& devices, const std::function<bool()>& interrupted = {}) {
    std::vector<std::unique_ptr<LocalTrialDevice>> owned;
    std::vector<TrialDevice*> trial_devices;
    for (FakeDevice* device : devices) {
      trial_devices.push_back(owned.emplace_back(std::make_unique<LocalTrialDevice>(*device)).get());
    }
    Store store = open();
    return run_sweep(request, catalogue, trial_devices, store, listener, interrupted);
  }

  /// The GPUs that timed a problem.
  [[nodiscard]] std::set<std::string> uuids(std::size_t problem) const {
    std::set<std::string> found;
    for (const Trial& trial : trials(first, problem)) {
      if (trial.timing) found.insert(trial.gpu_uuid);
    }
    return found;
  }

  /// The GPUs that timed a config of the first problem.
  [[nodiscard]] std::set<std::string> uuids_of(const std::string& config) const {
    std::set<std::string> found;
    for (const Trial& trial : trials(first)) {
      if (trial.timing && trial.config.text() == config) found.insert(trial.gpu_uuid);
    }
    return found;
  }

  /// The number of problems that each GPU has measured, each of them alone.
  [[nodiscard]] std::map<std::string, std::size_t> shares() const {
    std::map<std::string, std::size_t> counts;
    for (std::size_t i = 0; i < request.problems.size(); ++i) {
      const std::set<std::string> found = uuids(i);
      EXPECT_EQ(found.size(), 1U) << request.problems[i].key();
      for (const std::string& uuid : found) ++counts[uuid];
      EXPECT_EQ(winners(first, i).size(), 3U) << request.problems[i].key();
    }
    return counts;
  }

  /// Devices of which the last are still opening until they `come`, or fail to open if they `fail`.
  class Late : public Devices {
   public:
    Late(const std::vector<FakeDevice*>& devices, std::size_t late) : there_(devices.size() - late) {
      for (FakeDevice* device : devices) owned_.push_back(std::make_unique<LocalTrialDevice>(*device));
    }
    State state() override {
      State now;
      if (come && come()) there_ = owned_.size();
      for (std::size_t i = 0; i < owned_.size(); ++i) {
        LocalTrialDevice& each = *owned_[i];
        if (i < there_) {
          now.open.push_back(&each);
        } else if (!fail || !fail()) {
          now.awaited.push_back(
              {each.name(), unknown ? "" : each.facts().fingerprint(), unknown ? "" : each.gpu_uuid()});
        }
      }
      return now;
    }
    std::function<bool()> come, fail;
    /// Whether nothing is known of the devices that are still opening.
    bool unknown = false;

   private:
    std::size_t there_;
    std::vector<std::unique_ptr<LocalTrialDevice>> owned_;
  };

  SweepSummary sweep_on(Devices& devices) {
    Store store = open();
    return run_sweep(request, catalogue, devices, store, listener, {});
  }

  FakeCompiler compiler;
  FakeDevice first{{.index = 0, .gpu = true}};
  FakeDevice second{{.index = 1, .gpu = true}};
};

/// Leaves only configs of `twice` that do not crash a GPU.
void without_crashes(SweepRequest& request, FakeCompiler& compiler) {
  request.retry = {};
  compiler.crashing_fails = true;
}

TEST_F(SweepDevices, of_one_model_share_the_problems_and_measure_each_wholly) {
  without_crashes(request, compiler);
  const SweepSummary summary = sweep_on({&first, &second});
  EXPECT_EQ(summary.problems, request.problems.size());
  EXPECT_EQ(summary.measured, request.problems.size() * kConfigs);
  EXPECT_TRUE(summary.lost.empty());
  EXPECT_EQ(summary.left, 0U);
  const auto counts = shares();
  EXPECT_GT(counts.at("GPU-0000"), 1U);
  EXPECT_GT(counts.at("GPU-0001"), 1U);
  EXPECT_EQ(listener.done.size(), request.problems.size());
  EXPECT_EQ(std::set<std::string>(listener.started.begin(), listener.started.end()).size(), request.problems.size());
}

TEST_F(SweepDevices, work_at_the_same_time) {
  without_crashes(request, compiler);
  std::mutex mutex;
  std::condition_variable changed;
  std::set<int> met;
  // Continues once the other device is timing, too.
  const auto meet = [&](int index) {
    std::unique_lock lock(mutex);
    met.insert(index);
    changed.notify_all();
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return met.size() == 2; }));
  };
  first.before_timing = [&] { meet(0); };
  second.before_timing = [&] { meet(1); };
  EXPECT_EQ(sweep_on({&first, &second}).problems, request.problems.size());
}

TEST_F(SweepDevices, of_different_models_measure_all_problems_each) {
  without_crashes(request, compiler);
  use_shapes("n=100,200");
  FakeDevice other{{.index = 1, .model = "Another GPU", .gpu = true}};
  const SweepSummary summary = sweep_on({&first, &other});
  EXPECT_EQ(summary.problems, 4U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(winners(first, i).at(0).trial.gpu_uuid, "GPU-0000");
    EXPECT_EQ(winners(other, i).at(0).trial.gpu_uuid, "GPU-0001");
  }
  EXPECT_EQ(compiler.compiles.load(), static_cast<int>(summary.compiled)) << "one binary serves both";
}

TEST_F(SweepDevices, look_first_at_what_was_fast_on_another_of_their_model) {
  without_crashes(request, compiler);
  use_shapes("n=100");
  // Some configs remain, so that the other GPU measures all again.
  request.only = {{request.problems[0].key(), {kBest, request.definition->base.text()}}};
  (void)sweep_on({&first});
  request.only = {};
  request.strategy = "race";
  request.max_trials = 2;
  (void)sweep_on({&second});
  EXPECT_EQ(winners(second).at(0).trial.config.text(), kBest) << "looked at behind the base alone";
  EXPECT_EQ(winners(second).at(0).trial.gpu_uuid, "GPU-0001");
}

TEST_F(SweepDevices, keep_the_winner_of_another_of_their_model_until_they_have_timed_it) {
  without_crashes(request, compiler);
  use_shapes("n=100");
  request.only = {{request.problems[0].key(), {kBest, request.definition->base.text()}}};
  (void)sweep_on({&first});
  request.only = {};
  for (std::size_t trials = 1; trials < kConfigs; ++trials) {
    request.max_trials = trials;
    FakeDevice other{{.index = static_cast<int>(trials), .gpu = true}};
    const SweepSummary summary = sweep_on({&other});
    EXPECT_EQ(winners(first).at(0).trial.config.text(), kBest) << trials;
    const bool timed = winners(first).at(0).trial.gpu_uuid == other.gpu_uuid();
    EXPECT_EQ(timed, uuids_of(kBest).contains(other.gpu_uuid())) << trials;
    EXPECT_TRUE(timed || summary.measured == 0 || summary.cut_short == 1) << trials;
  }
}

TEST_F(SweepDevices, that_are_lost_leave_what_they_were_at_to_the_others) {
  without_crashes(request, compiler);
  second.before_timing = [&] { second.poisoned = second.timed == 3; };
  const SweepSummary summary = sweep_on({&first, &second});
  ASSERT_EQ(summary.lost.size(), 1U);
  EXPECT_NE(summary.lost.front().find("cuda:1 (GPU-0001) was lost"), std::string::npos) << summary.lost.front();
  EXPECT_EQ(summary.problems, request.problems.size());
  EXPECT_EQ(summary.left, 0U);
  for (std::size_t i = 0; i < request.problems.size(); ++i) {
    EXPECT_EQ(winners(first, i).at(0).trial.gpu_uuid, "GPU-0000") << request.problems[i].key();
  }
}

TEST_F(SweepDevices, that_are_all_of_their_model_leave_its_problems_undone) {
  without_crashes(request, compiler);
  use_shapes("n=100,200,300");
  FakeDevice other{{.index = 1, .model = "Another GPU", .gpu = true}};
  other.before_timing = [&] { other.poisoned = true; };
  const SweepSummary summary = sweep_on({&first, &other});
  EXPECT_EQ(summary.lost.size(), 1U);
  EXPECT_EQ(summary.problems, 3U);
  EXPECT_EQ(summary.left, 3U);
}

TEST_F(SweepDevices, that_are_all_lost_end_the_sweep) {
  without_crashes(request, compiler);
  for (FakeDevice* each : {&first, &second}) each->before_timing = [each] { each->poisoned = true; };
  EXPECT_THROW((void)sweep_on({&first, &second}), DeviceLost);
}

TEST_F(SweepDevices, lose_no_third_one_over_one_problem) {
  // A config that crashes each context, with devices in this process.
  use_shapes("n=100");
  FakeDevice third{{.index = 2, .gpu = true}};
  request.retry = {TrialStatus::crashed};
  const SweepSummary summary = sweep_on({&first, &second, &third});
  EXPECT_EQ(summary.lost.size(), 2U);
  EXPECT_EQ(summary.without_winner, 1U);
}

TEST_F(SweepDevices, that_come_late_take_a_share) {
  without_crashes(request, compiler);
  std::atomic<bool> begun = false;
  first.before_timing = [&] {
    begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  Late devices({&first, &second}, 1);
  devices.come = [&] { return begun.load(); };
  const SweepSummary summary = sweep_on(devices);
  EXPECT_EQ(summary.problems, request.problems.size());
  EXPECT_EQ(summary.measured, request.problems.size() * kConfigs);
  const auto counts = shares();
  EXPECT_GT(counts.at("GPU-0000"), 0U);
  EXPECT_GT(counts.at("GPU-0001"), 0U);
}

TEST_F(SweepDevices, that_never_open_hold_no_other_up) {
  without_crashes(request, compiler);
  Late devices({&first, &second}, 1);
  EXPECT_EQ(sweep_on(devices).problems, request.problems.size());
  EXPECT_EQ(shares().at("GPU-0000"), request.problems.size());
  ASSERT_FALSE(listener.notes.empty());
  EXPECT_EQ(listener.notes.back(), "cuda:1 was still opening when its work was done");
}

TEST_F(SweepDevices, of_an_unknown_model_are_waited_for) {
  without_crashes(request, compiler);
  use_shapes("n=100,200");
  FakeDevice other{{.index = 1, .model = "Another GPU", .gpu = true}};
  Late devices({&first, &other}, 1);
  devices.unknown = true;
  devices.come = [&] { return winners(first, 1).size() == 3; };
  EXPECT_EQ(sweep_on(devices).problems, 4U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(winners(other, i).at(0).trial.gpu_uuid, "GPU-0001");
}

TEST_F(SweepDevices, of_an_unknown_model_are_waited_for_until_they_fail) {
  without_crashes(request, compiler);
  use_shapes("n=100");
  Late devices({&first, &second}, 1);
  devices.unknown = true;
  devices.fail = [&] { return winners(first, 0).size() == 3; };
  EXPECT_EQ(sweep_on(devices).problems, 1U);
  for (const std::string& note : listener.notes) EXPECT_EQ(note.find("was still opening"), std::string::npos) << note;
}

TEST_F(SweepDevices, that_come_late_go_on_when_all_before_them_are_lost) {
  without_crashes(request, compiler);
  std::atomic<bool> lost = false;
  first.before_timing = [&] { lost = first.poisoned = true; };
  Late devices({&first, &second}, 1);
  devices.come = [&] { return lost.load(); };
  const SweepSummary summary = sweep_on(devices);
  EXPECT_EQ(summary.lost.size(), 1U);
  EXPECT_EQ(summary.problems, request.problems.size());
  // The config that lost the first device stays crashed, even the base.
  for (std::size_t i = 0; i < request.problems.size(); ++i) {
    EXPECT_EQ(uuids(i), std::set<std::string>{"GPU-0001"}) << request.problems[i].key();
    EXPECT_EQ(winners(first, i).at(0).role, WinnerRole::best);
  }
}

TEST_F(SweepDevices, that_are_lost_end_the_sweep_where_the_others_cannot_be_opened) {
  without_crashes(request, compiler);
  std::atomic<bool> lost = false;
  first.before_timing = [&] { lost = first.poisoned = true; };
  Late devices({&first, &second}, 1);
  devices.fail = [&] { return lost.load(); };
  EXPECT_THROW((void)sweep_on(devices), DeviceLost);
}

TEST_F(SweepDevices, that_are_slow_hold_no_other_up) {
  without_crashes(request, compiler);
  // It waits until the other one has finished all problems that it cannot have begun itself.
  constexpr std::size_t kMostBegun = 8;
  const std::size_t others = request.problems.size() - kMostBegun;
  second.before_timing = [&] {
    for (int tick = 0; tick < 6000 && listener.finished < others; ++tick) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  (void)sweep_on({&first, &second});
  EXPECT_GE(shares().at("GPU-0000"), others);
}

TEST_F(SweepDevices, end_together_when_interrupted) {
  without_crashes(request, compiler);
  std::atomic<bool> stop = false;
  second.before_timing = [&] { stop = second.timed == 4; };
  const SweepSummary summary = sweep_on({&first, &second}, [&] { return stop.load(); });
  EXPECT_TRUE(summary.interrupted);
  EXPECT_LT(summary.problems, request.problems.size());
  EXPECT_TRUE(summary.lost.empty());
  // The next sweep continues from the stored trials.
  second.before_timing = [] {};
  stop = false;
  EXPECT_FALSE(sweep_on({&first, &second}, [&] { return stop.load(); }).interrupted);
  EXPECT_EQ(shares().size(), 2U);
}

TEST_F(SweepDevices, end_together_when_the_compiler_is_broken) {
  compiler.broken = "NVRTC lost its headers";
  EXPECT_THROW((void)sweep_on({&first, &second}), Error);
}

TEST_F(SweepDevices, time_anew_what_may_win_where_another_one_has_left_a_problem_unfinished) {
  without_crashes(request, compiler);
  use_shapes("n=100");
  const std::string base = request.definition->base.text();
  const std::string slow = "plain{fault=0,speed=5,static_dims=0}";
  request.only = {{request.problems[0].key(), {kBest, base, slow}}};
  (void)sweep_on({&first});
  ASSERT_EQ(uuids(0), std::set<std::string>{"GPU-0000"});
  request.only = {};
  (void)sweep_on({&second});
  EXPECT_EQ(uuids_of(kBest), std::set<std::string>{"GPU-0001"});
  EXPECT_EQ(uuids_of(base), std::set<std::string>{"GPU-0001"}) << "its time is what others are compared with";
  EXPECT_EQ(uuids_of(slow), std::set<std::string>{"GPU-0000"}) << "clearly slower there";
  EXPECT_EQ(winners(second).at(0).trial.gpu_uuid, "GPU-0001");
  // Finished problems stay, whichever device measured them.
  EXPECT_EQ(sweep_on({&first}).measured, 0U);
}

TEST_F(SweepDevices, that_hold_the_final_of_a_config_tell_that_its_time_is_theirs) {
  without_crashes(request, compiler);
  use_shapes("n=100");
  // The fastest without specialised dims is clearly slower than the fastest of all, and is not measured anew.
  const std::string special = "plain{fault=0,speed=3,static_dims=1}";
  const std::string dynamic = "plain{fault=0,speed=5,static_dims=0}";
  std::set<std::string>& only = request.only[request.problems[0].key()];
  only = {request.definition->base.text(), special, dynamic};
  (void)sweep_on({&first});
  ASSERT_EQ(winners(first).at(1).trial.config.text(), dynamic);
  only.insert("plain{fault=0,speed=9,static_dims=1}");
  (void)sweep_on({&second});
  EXPECT_EQ(winners(first).at(1).trial.config.text(), dynamic);
  EXPECT_EQ(uuids_of(dynamic), std::set<std::string>{"GPU-0001"}) << "the final was held there";
}

TEST_F(SweepDevices, go_on_with_what_they_have_begun_themselves) {
  without_crashes(request, compiler);
  use_shapes("n=100");
  (void)sweep_on({&second}, [&] { return listener.trials.size() >= 8; });
  use_shapes("n=100,200");
  request.jobs = 1;
  const SweepSummary summary = sweep_on({&first, &second});
  EXPECT_EQ(uuids(0), std::set<std::string>{"GPU-0001"});
  EXPECT_EQ(uuids(1), std::set<std::string>{"GPU-0000"});
  EXPECT_EQ(summary.reused, 8U);
}

}  // namespace
}  // namespace tilewright::testing
