// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/disturbance_watch.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace tilewright {
namespace {

/// Returns readings one after the other, then repeats the last.
struct Script {
  std::deque<DeviceReadings> readings;
  DeviceReadings operator()() {
    DeviceReadings next = readings.front();
    if (readings.size() > 1) readings.pop_front();
    return next;
  }
};

DeviceReadings reasons(std::uint64_t bits) {
  DeviceReadings readings;
  readings.throttle_reasons = bits;
  return readings;
}
DeviceReadings others(int count) {
  DeviceReadings readings;
  readings.other_processes = count;
  return readings;
}

TEST(Disturbance, is_a_slowdown_or_another_process_at_either_end) {
  EXPECT_EQ(disturbance({}, {}), "");
  EXPECT_EQ(disturbance(reasons(0x1), reasons(0x2)), "") << "idle, application clocks";
  EXPECT_EQ(disturbance(reasons(0x20), {}), "software thermal slowdown");
  EXPECT_EQ(disturbance({}, reasons(0x48)), "hardware thermal slowdown, hardware slowdown");
  EXPECT_EQ(disturbance(reasons(0x80), reasons(0)), "hardware power brake");
  EXPECT_EQ(disturbance(others(0), others(2)), "2 other processes on the GPU");
  EXPECT_EQ(disturbance(others(1), reasons(0x20)), "software thermal slowdown, 1 other process on the GPU");
}

TEST(Disturbance, is_not_the_software_power_cap) { EXPECT_EQ(disturbance(reasons(0x4), reasons(0x4)), ""); }

TEST(ClockReasons, have_names_and_what_is_unknown_its_bits) {
  EXPECT_EQ(clock_reasons_text(0), "");
  EXPECT_EQ(clock_reasons_text(0x5), "software power cap, idle");
  EXPECT_EQ(clock_reasons_text(0x110), "sync boost, display clocks");
  EXPECT_EQ(clock_reasons_text(0x402), "application clocks, reasons 0x400");
}

TEST(DisturbanceWatch, keeps_the_readings_after_a_clean_measurement_and_the_reasons_of_both_ends) {
  DeviceReadings after = reasons(0x4);
  after.sm_clock_mhz = 1755;
  DisturbanceWatch watch(Script{{reasons(0x1), after}}, {});
  int measured = 0;
  const DisturbanceWatch::Seen seen = watch.over([&] { ++measured; });
  EXPECT_EQ(measured, 1);
  EXPECT_EQ(seen.retakes, 0);
  EXPECT_EQ(seen.disturbed, "");
  EXPECT_EQ(seen.readings.sm_clock_mhz, 1755);
  EXPECT_EQ(seen.readings.throttle_reasons, 0x5U);
}

TEST(DisturbanceWatch, has_nothing_to_say_where_there_are_no_readings) {
  DisturbanceWatch watch([] { return DeviceReadings(); }, {});
  const DisturbanceWatch::Seen seen = watch.over([] {});
  EXPECT_EQ(seen.disturbed, "");
  EXPECT_FALSE(seen.readings.throttle_reasons.has_value());
}

TEST(DisturbanceWatch, takes_again_what_was_disturbed_until_it_is_clean) {
  DisturbanceWatch watch(Script{{others(1), others(1), others(1), others(0), others(0)}}, {});
  int measured = 0;
  const DisturbanceWatch::Seen seen = watch.over([&] { ++measured; });
  EXPECT_EQ(measured, 3);
  EXPECT_EQ(seen.retakes, 2);
  EXPECT_EQ(seen.disturbed, "");
}

TEST(DisturbanceWatch, gives_up_within_a_bound_and_tries_no_harder_until_it_is_calm_again) {
  bool calm = false;
  DisturbanceWatch watch([&] { return calm ? reasons(0) : reasons(0x40); }, {});
  int measured = 0;
  const DisturbanceWatch::Seen seen = watch.over([&] { ++measured; });
  EXPECT_EQ(measured, 4);
  EXPECT_EQ(seen.disturbed, "disturbed by hardware thermal slowdown, and so 3 times before");
  EXPECT_EQ(watch.over([&] { ++measured; }).disturbed, "disturbed by hardware thermal slowdown");
  EXPECT_EQ(measured, 5);
  calm = true;
  EXPECT_EQ(watch.over([&] { ++measured; }).disturbed, "");
  calm = false;
  EXPECT_EQ(watch.over([&] { ++measured; }).retakes, 3);
}

TEST(DisturbanceWatch, waits_no_longer_than_it_is_wanted) {
  DisturbanceWatch watch([] { return others(1); }, [] { return true; });
  int measured = 0;
  EXPECT_EQ(watch.over([&] { ++measured; }).retakes, 0);
  EXPECT_EQ(measured, 1);
}

}  // namespace
}  // namespace tilewright
