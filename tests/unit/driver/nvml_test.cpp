// SPDX-License-Identifier: Apache-2.0
#include "cache/driver/nvml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/launch/recording_driver/recording.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using tilewright::testing::Recording;

TEST(Nvml, reads_clocks_temperature_power_and_reasons) {
  const Recording& recording = Recording::get();
  recording.reset();
  recording.set_throttle_reasons(4);
  const Nvml nvml("GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  EXPECT_EQ(nvml.why(), "");
  const DeviceReadings readings = nvml.read();
  EXPECT_EQ(readings.sm_clock_mhz, 1980);
  EXPECT_EQ(readings.memory_clock_mhz, 3201);
  EXPECT_EQ(readings.temperature_c, 41);
  EXPECT_EQ(readings.power_mw, 120000);
  EXPECT_EQ(readings.throttle_reasons, 4U);
  EXPECT_EQ(nvml.compute_processes(), 2);
  EXPECT_EQ(readings.other_processes, 1) << "one of two is this one";
}

TEST(Nvml, has_no_readings_of_a_gpu_that_it_does_not_know) {
  Recording::get().reset();
  const Nvml nvml("MIG-1");
  EXPECT_THAT(nvml.why(), HasSubstr("NVML does not know the GPU MIG-1"));
  EXPECT_FALSE(nvml.read().sm_clock_mhz.has_value());
  EXPECT_FALSE(nvml.read().throttle_reasons.has_value());
  EXPECT_FALSE(nvml.read().other_processes.has_value());
  EXPECT_EQ(nvml.compute_processes(), -1);
}

TEST(Nvml, has_no_readings_when_it_does_not_start) {
  Recording::get().reset();
  Recording::get().fail("nvmlInit_v2", 9);
  const Nvml nvml("GPU-1");
  EXPECT_THAT(nvml.why(), HasSubstr("NVML does not start"));
  EXPECT_FALSE(nvml.read().power_mw.has_value());
}

TEST(Nvml, says_that_it_was_not_found_or_is_something_else) {
  ::setenv("TILEWRIGHT_LIBNVML", "/nonexistent/libnvidia-ml.so.1", 1);
  EXPECT_THAT(Nvml("GPU-1").why(), HasSubstr("NVML was not found: /nonexistent/libnvidia-ml.so.1"));
  ::setenv("TILEWRIGHT_LIBNVML", "libm.so.6", 1);
  EXPECT_THAT(Nvml("GPU-1").why(), HasSubstr("libm.so.6 lacks nvmlInit_v2"));
  ::setenv("TILEWRIGHT_LIBNVML", Recording::path().c_str(), 1);
}

}  // namespace
}  // namespace tilewright
