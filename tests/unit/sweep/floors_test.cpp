// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/floors.hpp"

#include <gtest/gtest.h>

#include "tests/unit/sweep/fake_device.hpp"

namespace tilewright::testing {
namespace {

TEST(Floors, are_measured_once_for_a_mode_and_a_power_of_two) {
  FakeDevice device;
  Floors floors(device);
  EXPECT_NEAR(floors.ns(MeasureMode::cold, 64, {}), 100, 1);
  EXPECT_NEAR(floors.ns(MeasureMode::cold, 127, {}), 100, 1);
  EXPECT_EQ(device.empties_timed, 1);
  (void)floors.ns(MeasureMode::cold, 128, {});
  (void)floors.ns(MeasureMode::hot, 64, {});
  EXPECT_EQ(device.empties_timed, 3);
}

TEST(Floors, that_an_interrupt_cut_short_are_measured_again) {
  FakeDevice device;
  Floors floors(device);
  EXPECT_EQ(floors.ns(MeasureMode::cold, 64, [] { return true; }), 0);
  EXPECT_NEAR(floors.ns(MeasureMode::cold, 64, {}), 100, 1);
}

}  // namespace
}  // namespace tilewright::testing
