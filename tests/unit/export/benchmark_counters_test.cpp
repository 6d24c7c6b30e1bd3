// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/benchmark_counters.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

Timing thousand_ns() {
  Timing timing;
  timing.median_ns = 1000;
  timing.low_ns = 990;
  timing.high_ns = 1010;
  return timing;
}

TEST(BenchmarkCounters, are_rates_and_the_share_of_the_ceiling) {
  Roofline roofline{2'000'000, 5'000'000, Ceiling{}, {}};
  roofline.ceiling->copy_op_ns = 800;
  const auto counters = benchmark_counters(roofline, nullptr, thousand_ns());
  EXPECT_DOUBLE_EQ(counters.at("GB/s"), 2000);
  EXPECT_DOUBLE_EQ(counters.at("TFLOP/s"), 5);
  EXPECT_DOUBLE_EQ(counters.at("share_of_ceiling"), 0.8);
  EXPECT_DOUBLE_EQ(counters.at("half_interval_share"), 0.01);
}

TEST(BenchmarkCounters, have_the_share_of_what_bounds_the_time_as_tables_do) {
  Roofline roofline{1'000'000, 50'000'000, Ceiling{}, ComputeRate{}};
  roofline.ceiling->bytes = 1'000'000;
  roofline.ceiling->copy_op_ns = 100;
  roofline.rate->flops_per_second = 60e12;
  // 50 operations a byte, so compute is the bound: at its rate they take 833 of the 1000 ns.
  const Timing timing = thousand_ns();
  const auto counters = benchmark_counters(roofline, nullptr, timing);
  EXPECT_DOUBLE_EQ(counters.at("share_of_ceiling"), *share_of_ceiling(roofline, &timing));
  EXPECT_NEAR(counters.at("share_of_ceiling"), 50.0 / 60, 1e-12);
}

TEST(BenchmarkCounters, have_the_binarys_figures_and_the_readings) {
  History::BuildOf build;
  build.registers = 64;
  build.spill_bytes = 16;
  Timing timing = thousand_ns();
  timing.floor_ns = 700;
  timing.readings.sm_clock_mhz = 1980;
  timing.readings.power_mw = 350'000;
  const auto counters = benchmark_counters({}, &build, timing);
  EXPECT_DOUBLE_EQ(counters.at("registers"), 64);
  EXPECT_DOUBLE_EQ(counters.at("spill_bytes"), 16);
  EXPECT_DOUBLE_EQ(counters.at("floor_ns"), 700);
  EXPECT_DOUBLE_EQ(counters.at("sm_clock_mhz"), 1980);
  EXPECT_DOUBLE_EQ(counters.at("power_w"), 350);
}

TEST(BenchmarkCounters, are_left_out_where_they_are_not_known) {
  const auto counters = benchmark_counters({}, nullptr, thousand_ns());
  EXPECT_EQ(counters.size(), 1U);
  EXPECT_EQ(counters.count("half_interval_share"), 1U);
  EXPECT_TRUE(benchmark_counters({1, 1, {}, {}}, nullptr, Timing()).empty()) << "without a time there are none";
}

}  // namespace
}  // namespace tilewright
