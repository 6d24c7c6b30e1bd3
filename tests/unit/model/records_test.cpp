// SPDX-License-Identifier: Apache-2.0
#include "cache/model/records.hpp"

#include <gtest/gtest.h>

namespace tilewright::records_test {
namespace {

TEST(Records, every_status_mode_and_role_is_found_again_by_its_name) {
  for (const auto status :
       {TrialStatus::ok, TrialStatus::compile_failed, TrialStatus::exceeds_limits, TrialStatus::wrong_result,
        TrialStatus::timed_out, TrialStatus::crashed, TrialStatus::pruned}) {
    EXPECT_EQ(trial_status_from(name(status)), status);
  }
  for (const auto mode : {MeasureMode::cold, MeasureMode::hot, MeasureMode::events}) {
    EXPECT_EQ(measure_mode_from(name(mode)), mode);
  }
  for (const auto role : {WinnerRole::best, WinnerRole::dynamic, WinnerRole::base}) {
    EXPECT_EQ(winner_role_from(name(role)), role);
  }
  EXPECT_EQ(name(TrialStatus::wrong_result), "wrong_result");
  EXPECT_EQ(name(TrialStatus::pruned), "pruned");
  EXPECT_EQ(name(MeasureMode::events), "events");
  EXPECT_EQ(name(WinnerRole::dynamic), "dynamic");
}

TEST(Records, what_was_not_tried_did_not_fail) {
  EXPECT_FALSE(is_failure(TrialStatus::ok));
  EXPECT_FALSE(is_failure(TrialStatus::pruned));
  for (const auto status : {TrialStatus::compile_failed, TrialStatus::exceeds_limits, TrialStatus::wrong_result,
                            TrialStatus::timed_out, TrialStatus::crashed}) {
    EXPECT_TRUE(is_failure(status)) << name(status);
  }
}

TEST(Records, a_drivers_version_is_a_text_and_none_on_the_emulator) {
  EXPECT_EQ(driver_text(13000), "13.0");
  EXPECT_EQ(driver_text(12080), "12.8");
  EXPECT_EQ(driver_text(0), "");
}

TEST(Records, an_unknown_name_is_nothing) {
  EXPECT_EQ(trial_status_from("OK"), std::nullopt);
  EXPECT_EQ(trial_status_from(""), std::nullopt);
  EXPECT_EQ(measure_mode_from("warm"), std::nullopt);
  EXPECT_EQ(winner_role_from("worst"), std::nullopt);
}

TEST(Records, a_time_within_twice_the_floor_is_launch_bound) {
  Timing timing;
  timing.floor_ns = 1000;
  timing.median_ns = 1999;
  EXPECT_TRUE(timing.launch_bound());
  timing.median_ns = 2000;
  EXPECT_FALSE(timing.launch_bound());
  timing.floor_ns = 0;  // the emulator has none
  timing.median_ns = 1;
  EXPECT_FALSE(timing.launch_bound());
}

TEST(Records, a_ceiling_is_the_faster_of_what_was_measured) {
  Ceiling ceiling;
  EXPECT_EQ(ceiling.best_ns(), 0);
  ceiling.copy_op_ns = 20;
  EXPECT_EQ(ceiling.best_ns(), 20);
  ceiling.memcpy_ns = 30;
  EXPECT_EQ(ceiling.best_ns(), 20);
  ceiling.copy_op_ns.reset();
  EXPECT_EQ(ceiling.best_ns(), 30);
}

}  // namespace
}  // namespace tilewright::records_test
