// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <thread>

#include "tuner/measure/measure.hpp"

namespace tilewright {
namespace {

using std::chrono::milliseconds;

// Rounds with a test's values.
class FakeRounds : public Rounds {
 public:
  explicit FakeRounds(std::function<double(int)> value) : value_(std::move(value)) {}
  double run() override { return value_(count++); }
  int count = 0;

 private:
  std::function<double(int)> value_;
};

constexpr StopRule kPatient{
    .relative_interval = 0.005, .min_rounds = 8, .max_rounds = 200, .budget = std::chrono::hours(1)};

TEST(Measure, stops_as_soon_as_quiet_rounds_allow) {
  FakeRounds rounds([](int i) { return 1000.0 + i % 2; });
  const Timing timing = measure(rounds, kPatient);
  EXPECT_EQ(timing.rounds_ns.size(), 8u);
  EXPECT_NEAR(timing.median_ns, 1000.5, 0.5);
}

TEST(Measure, leaves_the_warm_up_round_out) {
  FakeRounds rounds([](int i) { return i == 0 ? 1e9 : 1000.0; });
  const Timing timing = measure(rounds, kPatient);
  EXPECT_EQ(rounds.count, 9);
  EXPECT_DOUBLE_EQ(timing.high_ns, 1000);
}

TEST(Measure, counts_a_warm_up_round_that_takes_the_budget_and_a_tenth_of_a_second) {
  for (const int length : {30, 110}) {
    FakeRounds rounds([length](int) {
      std::this_thread::sleep_for(milliseconds(length));
      return 1000.0;
    });
    StopRule rule = kPatient;
    rule.budget = milliseconds(20);
    EXPECT_EQ(measure(rounds, rule).rounds_ns.size(), 3u);
    EXPECT_EQ(rounds.count, length > 100 ? 3 : 4);
  }
}

TEST(Measure, goes_on_until_the_interval_is_narrow_enough) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(1000, 10);
  FakeRounds rounds([&](int) { return noise(random); });
  const Timing timing = measure(rounds, kPatient);
  EXPECT_GT(timing.rounds_ns.size(), 8u);
  EXPECT_LT(timing.rounds_ns.size(), 200u);
  EXPECT_LE((timing.high_ns - timing.low_ns) / 2, 0.005 * timing.median_ns);
}

TEST(Measure, stopping_at_the_first_narrow_interval_costs_little_of_its_certainty) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(1000, 5);
  constexpr int kMeasurements = 2000;
  int covered = 0;
  for (int i = 0; i < kMeasurements; ++i) {
    FakeRounds rounds([&](int) { return noise(random); });
    const Timing timing = measure(rounds, kPatient);
    covered += timing.low_ns <= 1000 && 1000 <= timing.high_ns;
  }
  EXPECT_GT(covered, kMeasurements * 93 / 100);
}

/// The time of three rounds of 5 ms, with rests of up to 1000 times a round.
std::chrono::duration<double> seconds_of(StopRule rule) {
  FakeRounds rounds([](int) {
    std::this_thread::sleep_for(milliseconds(5));
    return 1000.0;
  });
  rule.rest = 1000;
  rule.min_rounds = rule.max_rounds = 3;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(measure(rounds, rule).rounds_ns.size(), 3u);
  return std::chrono::steady_clock::now() - begin;
}

TEST(Measure, rests_no_longer_than_a_tenth_of_a_second) {
  const auto seconds = seconds_of(kPatient).count();
  EXPECT_GE(seconds, 4 * 0.1) << "the warm-up round rests, too";
  EXPECT_LT(seconds, 4) << "5 s each without a bound";
}

TEST(Measure, under_load_does_not_rest) {
  StopRule rule = sustained(kPatient);
  rule.load = milliseconds(10);
  EXPECT_LT(seconds_of(rule).count(), 0.35) << "four rests would take 0.4 s";
}

TEST(Measure, ends_at_the_greatest_number_of_rounds) {
  FakeRounds rounds([](int i) { return i % 2 == 0 ? 1000.0 : 2000.0; });
  StopRule rule = kPatient;
  rule.max_rounds = 31;
  EXPECT_EQ(measure(rounds, rule).rounds_ns.size(), 31u);
}

TEST(Measure, ends_when_the_budget_is_spent) {
  FakeRounds rounds([](int i) {
    std::this_thread::sleep_for(milliseconds(1));
    return i % 2 == 0 ? 1000.0 : 2000.0;
  });
  StopRule rule = kPatient;
  rule.max_rounds = 100'000;
  rule.budget = milliseconds(40);
  const Timing timing = measure(rounds, rule);
  EXPECT_GE(timing.rounds_ns.size(), 3u);
  EXPECT_LE(timing.rounds_ns.size(), 40u);
}

TEST(Measure, the_device_rests_between_rounds_as_long_as_the_rule_says) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point ended;
  Clock::duration least_rest = std::chrono::hours(1);
  FakeRounds rounds([&](int i) {
    if (i > 0) least_rest = std::min(least_rest, Clock::now() - ended);
    std::this_thread::sleep_for(milliseconds(2));
    ended = Clock::now();
    return 1000.0;
  });
  StopRule rule = kPatient;
  rule.rest = 3;
  EXPECT_EQ(measure(rounds, rule).rounds_ns.size(), 8u);
  EXPECT_GE(least_rest, milliseconds(6));
}

TEST(Rest, is_for_gpus_that_compute_more_than_memory_lets_them_wait) {
  DeviceFacts gpu;
  gpu.compute_capability = 90;
  const std::int64_t bytes = 1000;
  EXPECT_EQ(rest_for(gpu, 10 * bytes, bytes), 0);
  EXPECT_GT(rest_for(gpu, 200 * bytes, bytes), 0);
  EXPECT_EQ(rest_for(emulator_facts(), 200 * bytes, bytes), 0);
}

TEST(Measure, makes_three_rounds_even_with_no_budget) {
  FakeRounds rounds([](int i) { return 1000.0 * i; });
  StopRule rule = kPatient;
  rule.budget = milliseconds(0);
  const Timing timing = measure(rounds, rule);
  EXPECT_EQ(timing.rounds_ns, (std::vector<double>{1000, 2000, 3000}));
}

TEST(Measure, an_interrupt_ends_it_with_what_there_is) {
  FakeRounds rounds([](int i) { return i % 2 == 0 ? 1000.0 : 2000.0; });
  const Timing timing = measure(rounds, kPatient, [&] { return rounds.count >= 5; });
  EXPECT_EQ(timing.rounds_ns.size(), 4u);
}

TEST(Measure, an_interrupt_before_the_first_round_gives_a_timing_without_rounds) {
  FakeRounds rounds([](int) { return 1000.0; });
  const Timing timing = measure(rounds, kPatient, [] { return true; });
  EXPECT_TRUE(timing.rounds_ns.empty());
  EXPECT_EQ(rounds.count, 0);
}

TEST(Measure, what_a_round_throws_goes_through) {
  FakeRounds rounds([](int i) -> double {
    if (i == 3) throw DeviceError("illegal address");
    return 1000.0;
  });
  EXPECT_THROW((void)measure(rounds, kPatient), DeviceError);
}

TEST(Measure, gives_up_at_the_first_round_that_is_too_slow) {
  StopRule rule = kPatient;
  rule.give_up_ns = 1500;
  FakeRounds slow([](int) { return 2000.0; });
  EXPECT_EQ(measure(slow, rule).rounds_ns, std::vector<double>{2000.0});
  FakeRounds later([](int i) { return i < 3 ? 1000.0 : 1600.0; });
  EXPECT_EQ(measure(later, rule).rounds_ns, (std::vector<double>{1000.0, 1000.0, 1600.0}));
  FakeRounds fine([](int) { return 1500.0; });
  EXPECT_EQ(measure(fine, rule).rounds_ns.size(), 8u);
}

TEST(MeasureTogether, takes_a_round_of_each_in_turn) {
  std::vector<int> order;
  FakeRounds a([&](int) { return order.push_back(0), 1000.0; });
  FakeRounds b([&](int) { return order.push_back(1), 2000.0; });
  Rounds* const both[] = {&a, &b};
  const std::vector<Timing> timings = measure_together(both, kPatient);
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].rounds_ns, std::vector<double>(8, 1000.0));
  EXPECT_EQ(timings[1].rounds_ns, std::vector<double>(8, 2000.0));
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int>(i % 2));
}

TEST(MeasureTogether, goes_on_for_all_until_the_last_is_settled) {
  FakeRounds quiet([](int) { return 1000.0; });
  FakeRounds noisy([](int i) { return i < 60 ? 1000.0 + 50 * (i % 3) : 1050.0; });
  Rounds* const both[] = {&quiet, &noisy};
  const std::vector<Timing> timings = measure_together(both, kPatient);
  EXPECT_GT(timings[0].rounds_ns.size(), 8u);
  EXPECT_EQ(timings[0].rounds_ns.size(), timings[1].rounds_ns.size());
}

TEST(MeasureTogether, gives_nothing_of_a_turn_that_was_cut_short) {
  bool stop = false;
  FakeRounds a([](int) { return 1000.0; });
  FakeRounds b([&](int i) { return stop = i == 4, 1000.0; });
  FakeRounds c([](int) { return 1000.0; });
  Rounds* const all[] = {&a, &b, &c};
  const std::vector<Timing> timings = measure_together(all, kPatient, [&] { return stop; });
  for (const Timing& timing : timings) EXPECT_EQ(timing.rounds_ns.size(), 3u);
  stop = true;
  EXPECT_TRUE(measure_together(all, kPatient, [&] { return stop; }).front().rounds_ns.empty());
  EXPECT_TRUE(measure_together({}, kPatient).empty());
}

}  // namespace
}  // namespace tilewright
