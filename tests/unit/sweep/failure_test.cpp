// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/failure.hpp"

#include <gtest/gtest.h>

#include "tests/unit/sweep/fake_device.hpp"

namespace tilewright {
namespace {

TEST(StatusOf, tells_refusals_from_crashes_and_from_time_outs) {
  EXPECT_EQ(status_of(DeviceError("illegal address", 700)), TrialStatus::crashed);
  EXPECT_EQ(status_of(DeviceError("misaligned address", 716)), TrialStatus::crashed);
  EXPECT_EQ(status_of(DeviceError("launch timeout", 702)), TrialStatus::timed_out);
  EXPECT_EQ(status_of(DeviceError("out of resources", 701)), TrialStatus::exceeds_limits);
  EXPECT_EQ(status_of(DeviceError("invalid value", 1)), TrialStatus::exceeds_limits);
}

TEST(StatusOf, reads_the_emulators_outcome_from_its_text) {
  EXPECT_EQ(status_of(DeviceError("running x failed: timed out: 60 s are over")), TrialStatus::timed_out);
  EXPECT_EQ(status_of(DeviceError("running x failed: deadlock: no thread can go on")), TrialStatus::crashed);
}

TEST(StillAnswers, is_true_where_all_memory_is_taken) {
  testing::FakeDevice device({.gpu = true});
  device.taken = device.free_bytes();
  EXPECT_TRUE(still_answers(device));
}

TEST(MayPass, is_what_found_no_room_beside_other_processes) {
  Trial trial;
  trial.status = TrialStatus::exceeds_limits;
  trial.reason = "more shared memory than there is";
  EXPECT_FALSE(may_pass(trial));
  trial.reason = kBesideOthers + std::string("out of memory");
  EXPECT_TRUE(may_pass(trial));
  trial.status = TrialStatus::ok;
  EXPECT_FALSE(may_pass(trial));
}

TEST(StillAnswers, is_false_once_the_context_is_lost) {
  testing::FakeDevice device({.gpu = true});
  EXPECT_TRUE(still_answers(device));
  device.poisoned = true;
  EXPECT_FALSE(still_answers(device));
}

}  // namespace
}  // namespace tilewright
