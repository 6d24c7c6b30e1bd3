// SPDX-License-Identifier: Apache-2.0
// Faults while winners are chosen: in the final, in the last check, under load.
#include <algorithm>
#include <atomic>
#include <span>
#include <thread>

#include "tests/unit/sweep/sweep_fixture.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/local_config_runner.hpp"

namespace tilewright::testing {
namespace {

/// Hooks called before a device's operations; their exceptions become the device's.
struct Hooks {
  std::function<void(const Problem&)> before_set_up;
  /// True: none of the configs can be timed together, as if one of them ended the process.
  std::function<bool(std::span<const CompiledConfig>)> spoils;
  std::function<void(const CompiledConfig&)> before_time;
  std::function<void(const CompiledConfig&)> before_check;
};

class HookedConfigRunner : public ConfigRunner {
 public:
  HookedConfigRunner(std::unique_ptr<ConfigRunner> runner, const Hooks& hooks)
      : runner_(std::move(runner)), hooks_(hooks) {}

  Trial run(const Implementation& implementation, const Config& config, const Build& build,
            std::span<const std::byte> binary, const StopRule& rule) override {
    return runner_->run(implementation, config, build, binary, rule);
  }
  std::vector<Timing> time_together(std::span<const CompiledConfig> finalists, const StopRule& rule) override {
    if (hooks_.spoils && hooks_.spoils(finalists)) return std::vector<Timing>(finalists.size());
    return runner_->time_together(finalists, rule);
  }
  Timing time(const CompiledConfig& config, const StopRule& rule) override {
    if (hooks_.before_time) hooks_.before_time(config);
    return runner_->time(config, rule);
  }
  Verdict verify(const CompiledConfig& config) override { return runner_->verify(config); }
  std::string check_again(const CompiledConfig& config) override {
    if (hooks_.before_check) hooks_.before_check(config);
    return runner_->check_again(config);
  }

 private:
  std::unique_ptr<ConfigRunner> runner_;
  const Hooks& hooks_;
};

class HookedWorkplace : public TrialDevice {
 public:
  HookedWorkplace(Device& device, const Hooks& hooks) : place_(device), hooks_(hooks) {}

  [[nodiscard]] const DeviceFacts& facts() const noexcept override { return place_.facts(); }
  [[nodiscard]] const std::string& name() const noexcept override { return place_.name(); }
  [[nodiscard]] const std::string& gpu_uuid() const noexcept override { return place_.gpu_uuid(); }
  [[nodiscard]] int driver_version() const noexcept override { return place_.driver_version(); }
  [[nodiscard]] std::unique_ptr<ConfigRunner> set_up(const OpDefinition& definition, const Problem& problem,
                                                     const CompileResult& reference,
                                                     const TrialSetting& setting) override {
    if (hooks_.before_set_up) hooks_.before_set_up(problem);
    return std::make_unique<HookedConfigRunner>(place_.set_up(definition, problem, reference, setting), hooks_);
  }
  [[nodiscard]] double memcpy_ns(std::int64_t bytes, MeasureMode mode, const StopRule& rule,
                                 const std::function<bool()>& interrupted) override {
    return place_.memcpy_ns(bytes, mode, rule, interrupted);
  }
  [[nodiscard]] bool answers() override { return true; }

 private:
  LocalTrialDevice place_;
  const Hooks& hooks_;
};

class ProblemFinal : public SweepFixture {
 protected:
  ProblemFinal() {
    compiler.crashing_fails = true;
    request.compiler = &compiler;
  }

  SweepSummary sweep_hooked() {
    HookedWorkplace place(device, hooks);
    Store store = open();
    return run_sweep(request, catalogue, place, store, listener, [this] { return stop.load(); });
  }
  [[nodiscard]] Trial best_trial() const {
    for (const Trial& trial : trials(device)) {
      if (trial.config.text() == kBest) return trial;
    }
    ADD_FAILURE() << "no trial of " << kBest;
    return {};
  }

  FakeCompiler compiler;
  FakeDevice device{{.gpu = true}};
  Hooks hooks;
  std::atomic<bool> stop = false;
};

bool is_best(const CompiledConfig& finalist) { return finalist.config.text() == kBest; }

TEST_F(ProblemFinal, is_held_again_without_the_one_that_ends_it_for_all) {
  hooks.spoils = [](std::span<const CompiledConfig> finalists) { return std::ranges::any_of(finalists, is_best); };
  hooks.before_time = [](const CompiledConfig& finalist) {
    if (is_best(finalist)) throw DeviceError("its process ended with signal 6");
  };
  EXPECT_EQ(sweep_hooked().without_winner, 0U);
  EXPECT_EQ(best_trial().status, TrialStatus::crashed);
  EXPECT_NE(best_trial().reason.find("signal 6"), std::string::npos);
  const Winner winner = winners(device).at(0);
  EXPECT_NE(winner.trial.config.text(), kBest);
  EXPECT_EQ(winner.trial.look, LookLength::final) << "and not as it was timed beside the compilers";
}

TEST_F(ProblemFinal, times_those_alone_who_cannot_meet) {
  int spoilt = 0;
  hooks.spoils = [&](std::span<const CompiledConfig>) { return ++spoilt > 0; };
  EXPECT_EQ(sweep_hooked().without_winner, 0U);
  EXPECT_GT(spoilt, 0);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
  EXPECT_EQ(winners(device).at(0).trial.look, LookLength::final);
}

TEST_F(ProblemFinal, blames_no_winner_for_a_device_that_is_lost_in_the_last_check) {
  hooks.before_check = [](const CompiledConfig&) { throw DeviceLost("the GPU has fallen off the bus"); };
  EXPECT_THROW((void)sweep_hooked(), DeviceLost);
  EXPECT_EQ(best_trial().status, TrialStatus::ok);
  EXPECT_TRUE(winners(device).empty());
  hooks.before_check = {};
  EXPECT_EQ(sweep_hooked().without_winner, 0U);
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

TEST_F(ProblemFinal, blames_no_winner_for_a_reference_that_another_config_has_spoilt) {
  Address expected = 0;
  device.allocated = [&](const std::string& what, Address address) {
    if (what == "expected y") expected = address;
  };
  // One that is wrong in place is checked before the best.
  hooks.before_check = [&](const CompiledConfig& finalist) {
    if (is_best(finalist)) device.fill(expected, 0, sizeof(double));
  };
  EXPECT_EQ(sweep_hooked().without_winner, 0U);
  EXPECT_EQ(best_trial().status, TrialStatus::ok) << best_trial().reason;
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

TEST_F(ProblemFinal, serves_nothing_whose_last_check_was_interrupted) {
  int checked = 0;
  hooks.before_check = [&](const CompiledConfig&) {
    ++checked;
    stop = true;
  };
  EXPECT_TRUE(sweep_hooked().interrupted);
  EXPECT_EQ(checked, 1);
  EXPECT_TRUE(winners(device).empty());
  stop = false;
  hooks.before_check = [&](const CompiledConfig&) { ++checked; };
  EXPECT_FALSE(sweep_hooked().interrupted);
  EXPECT_GT(checked, 1) << "what was cut short is made again";
  EXPECT_EQ(winners(device).at(0).trial.config.text(), kBest);
}

TEST_F(ProblemFinal, leaves_out_what_does_not_bear_the_load) {
  request.regime = Regime::sustained;
  hooks.before_time = [](const CompiledConfig& finalist) {
    if (is_best(finalist)) throw DeviceError("running twice_plain failed: timed out: 60 s are over");
  };
  EXPECT_EQ(sweep_hooked().without_winner, 0U);
  EXPECT_EQ(best_trial().status, TrialStatus::timed_out);
  const Winner winner = winners(device).at(0);
  EXPECT_EQ(winner.choice.regime, Regime::sustained);
  ASSERT_FALSE(winner.choice.sustained.empty());
  EXPECT_NE(winner.choice.sustained.front().config.text(), kBest);
}

TEST_F(ProblemFinal, says_of_a_former_leader_that_fails_when_and_where_it_failed) {
  (void)sweep_hooked();
  const Trial before = best_trial();
  request.regime = Regime::sustained;
  hooks.before_time = [](const CompiledConfig& finalist) {
    if (is_best(finalist)) throw DeviceError("running twice_plain failed: timed out: 60 s are over");
  };
  (void)sweep_hooked();
  const Trial failed = best_trial();
  EXPECT_EQ(failed.status, TrialStatus::timed_out);
  EXPECT_GT(failed.sweep, before.sweep);
  EXPECT_EQ(failed.gpu_uuid, device.gpu_uuid());
}

TEST_F(ProblemFinal, goes_on_when_a_problem_beside_it_cannot_be_set_up) {
  use_shapes("n=100,200,300,400");
  hooks.before_set_up = [](const Problem& problem) {
    if (problem.dims.at(0).second != 100) throw DeviceError("allocating x failed: out of memory", 2);
  };
  compiler.before_compile = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  (void)sweep_hooked();
  EXPECT_EQ(winners(device, 0).at(0).trial.config.text(), kBest);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(winners(device, i).empty());
}

}  // namespace
}  // namespace tilewright::testing
