// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/unit/sweep/sweep_fixture.hpp"

namespace tilewright::testing {
namespace {

/// Records reports in order, and waits for them.
class Events : public Listener {
 public:
  void problem_started(const Problem& problem, std::size_t, std::size_t, std::size_t, std::size_t) override {
    add("started " + problem.key());
  }
  void trial_done(const Problem& problem, const Trial&, bool) override { add("trial " + problem.key()); }
  void problem_done(const Problem& problem, const std::vector<Winner>&) override { add("done " + problem.key()); }

  /// Returns false on timeout.
  bool wait_for(const std::string& event) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return place(event) < events_.size(); });
  }
  [[nodiscard]] std::size_t first(const std::string& event) {
    const std::lock_guard lock(mutex_);
    return place(event);
  }

 private:
  void add(const std::string& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    changed_.notify_all();
  }
  [[nodiscard]] std::size_t place(const std::string& event) const {
    return static_cast<std::size_t>(std::find(events_.begin(), events_.end(), event) - events_.begin());
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
};

constexpr const char* kFirst = "twice[dtype=f32]{n=100}";
constexpr const char* kSecond = "twice[dtype=f32]{n=200}";

class SweepPipeline : public SweepFixture {
 protected:
  SweepPipeline() { request.jobs = 1; }

  /// Puts the binaries of these shapes into the cache, without valid trials.
  void compile(const std::string& shapes, const FakeOptions& options = {}) {
    use_shapes(shapes);
    FakeDevice device(options);
    device.fake_compiler.crashing_fails = options.gpu;
    request.mode = MeasureMode::hot;
    (void)sweep(device);
    request.mode = MeasureMode::cold;
  }

  SweepSummary run(FakeDevice& device) {
    Store store = open();
    return run_sweep(request, catalogue, device, store, events, {});
  }

  Events events;
};

TEST_F(SweepPipeline, measures_another_problem_while_the_first_ones_binaries_are_compiled) {
  compile("n=200");
  use_shapes("n=100,200");
  FakeDevice device;
  device.fake_compiler.before_compile = [&] {
    EXPECT_TRUE(events.wait_for(std::string("trial ") + kSecond)) << "the device waits although binaries are there";
  };
  EXPECT_EQ(run(device).problems, 2U);
  EXPECT_LT(events.first(std::string("done ") + kFirst), events.first(std::string("done ") + kSecond));
  EXPECT_EQ(winners(device, 0).at(0).trial.config.text(), kBest);
  EXPECT_EQ(winners(device, 1).at(0).trial.config.text(), kBest);
  EXPECT_EQ(trials(device, 0).size(), kConfigs);
  EXPECT_EQ(trials(device, 1).size(), kConfigs);
  EXPECT_EQ(device.used, 0U);
}

TEST_F(SweepPipeline, measures_another_problem_while_a_final_waits_for_idle_compilers) {
  compile("n=100,200");
  use_shapes("n=100,200,300");
  FakeDevice device;
  device.fake_compiler.before_compile = [&] {
    EXPECT_TRUE(events.wait_for(std::string("trial ") + kSecond)) << "the device waits although binaries are there";
  };
  EXPECT_EQ(run(device).problems, 3U);
}

TEST_F(SweepPipeline, begins_no_problem_early_whose_looks_depend_on_the_one_before) {
  compile("n=200");
  use_shapes("n=100,200");
  request.strategy = "local";
  FakeDevice device;
  EXPECT_EQ(run(device).problems, 2U);
  EXPECT_LT(events.first(std::string("done ") + kFirst), events.first(std::string("started ") + kSecond));
}

TEST_F(SweepPipeline, begins_no_problem_early_that_has_no_binary_yet) {
  use_shapes("n=100,200");
  request.only[kFirst] = request.only[kSecond] = {"plain{fault=0,speed=3,static_dims=1}"};
  FakeDevice device;
  device.fake_compiler.before_compile = [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  EXPECT_EQ(run(device).problems, 2U);
  EXPECT_LT(events.first(std::string("trial ") + kFirst), events.first(std::string("started ") + kSecond));
}

TEST_F(SweepPipeline, goes_on_after_an_interrupt_with_all_problems_that_were_open) {
  compile("n=200");
  use_shapes("n=100,200");
  FakeDevice device;
  std::atomic<bool> stop = false;
  device.fake_compiler.before_compile = [&] {
    EXPECT_TRUE(events.wait_for(std::string("trial ") + kSecond));
    stop = true;
  };
  Store store = open();
  const SweepSummary cut = run_sweep(request, catalogue, device, store, events, [&] { return stop.load(); });
  EXPECT_TRUE(cut.interrupted);
  EXPECT_EQ(cut.problems, 0U);
  EXPECT_EQ(device.used, 0U);
  FakeDevice next;
  const SweepSummary rest = run(next);
  EXPECT_EQ(rest.problems, 2U);
  EXPECT_EQ(cut.measured + rest.measured, 2 * kConfigs);
  EXPECT_EQ(rest.reused, cut.measured);
}

TEST_F(SweepPipeline, hands_everything_back_when_the_device_is_lost) {
  compile("n=200", {.gpu = true});
  use_shapes("n=100,200");
  FakeDevice device({.gpu = true});
  std::atomic<bool> seen = false;
  device.fake_compiler.crashing_fails = true;
  device.fake_compiler.before_compile = [&] { seen = events.wait_for(std::string("trial ") + kSecond); };
  device.before_timing = [&] { device.poisoned = seen.load(); };
  EXPECT_THROW((void)run(device), DeviceError);
  EXPECT_TRUE(seen);
  EXPECT_TRUE(winners(device, 0).empty());
  FakeDevice next({.gpu = true});
  next.fake_compiler.crashing_fails = true;
  request.retry = {TrialStatus::crashed};
  EXPECT_EQ(run(next).problems, 2U);
  EXPECT_EQ(winners(next, 0).at(0).trial.config.text(), kBest);
  EXPECT_EQ(winners(next, 1).at(0).trial.config.text(), kBest);
}

TEST_F(SweepPipeline, waits_less_than_the_compilers_take) {
  using namespace std::chrono_literals;
  // The first shape compiles the shared binaries, each of the others three more; a look takes a quarter of a
  // compilation.
  use_shapes("n=100,200,300,400,500,600");
  FakeDevice device;
  std::atomic<std::int64_t> compiling_ns = 0;
  device.fake_compiler.before_compile = [&] {
    const auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(20ms);
    compiling_ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  };
  device.before_timing = [] { std::this_thread::sleep_for(5ms); };
  const SweepSummary summary = run(device);
  EXPECT_LT(summary.waited_seconds, std::chrono::nanoseconds(compiling_ns.load()));
  RecordProperty("waited_ms", static_cast<int>(summary.waited_seconds.count() * 1000));
  RecordProperty("wall_ms", static_cast<int>(summary.wall_seconds.count() * 1000));
}

TEST_F(SweepPipeline, tells_how_long_the_device_waited) {
  FakeDevice device;
  use_shapes("n=100");
  device.fake_compiler.before_compile = [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); };
  const SweepSummary summary = run(device);
  EXPECT_GT(summary.waited_seconds.count(), 0.03);
  EXPECT_LT(summary.waited_seconds, summary.wall_seconds);
  FakeDevice warm;
  request.again = true;
  EXPECT_LT(run(warm).waited_seconds.count(), 0.01);
}

}  // namespace
}  // namespace tilewright::testing
