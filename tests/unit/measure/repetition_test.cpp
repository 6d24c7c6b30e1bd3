// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tuner/measure/measure.hpp"

namespace tilewright {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMiB = std::size_t{1} << 20;

DeviceFacts gpu() {
  DeviceFacts facts;
  facts.compute_capability = 90;
  facts.l2_bytes = 60 << 20;
  return facts;
}

TEST(Launches, fill_the_target) {
  EXPECT_EQ(launches_for(10'000, milliseconds(1), 1), 100);
  EXPECT_EQ(launches_for(3'000'000, milliseconds(1), 1), 1);
}

TEST(Launches, are_whole_turns_of_the_sets) {
  EXPECT_EQ(launches_for(10'000, milliseconds(1), 7), 98);
  EXPECT_EQ(launches_for(3'000'000, milliseconds(1), 7), 7);
}

TEST(Launches, are_bounded_for_kernels_of_no_time_at_all) {
  EXPECT_EQ(launches_for(1, milliseconds(1), 1), 1024);
  EXPECT_EQ(launches_for(0, milliseconds(1), 100), 1000);
  EXPECT_EQ(launches_for(-1, milliseconds(1), 1000), 1000);
  EXPECT_EQ(launches_for(1, milliseconds(1), 0), 1024);
}

TEST(InputSets, together_exceed_twice_the_l2) {
  EXPECT_EQ(input_sets_for(gpu(), 8 * kMiB, 100'000 * kMiB, MeasureMode::cold), 16);
  EXPECT_EQ(input_sets_for(gpu(), 50 * kMiB, 100'000 * kMiB, MeasureMode::cold), 3);
}

TEST(InputSets, are_two_at_least_even_when_one_is_large) {
  EXPECT_EQ(input_sets_for(gpu(), 500 * kMiB, 100'000 * kMiB, MeasureMode::cold), 2);
}

TEST(InputSets, are_bounded_in_number_and_by_memory) {
  EXPECT_EQ(input_sets_for(gpu(), 1, 100'000 * kMiB, MeasureMode::cold), 1024);
  EXPECT_EQ(input_sets_for(gpu(), 10 * kMiB, 50 * kMiB, MeasureMode::cold), 4);
  EXPECT_EQ(input_sets_for(gpu(), 100 * kMiB, 50 * kMiB, MeasureMode::cold), 1);
  EXPECT_EQ(input_sets_for(gpu(), 0, 0, MeasureMode::cold), 1);
}

TEST(InputSets, do_not_rotate_where_the_cache_is_meant_to_be_warm_or_is_cleared_or_does_not_count) {
  EXPECT_EQ(input_sets_for(gpu(), kMiB, 100'000 * kMiB, MeasureMode::hot), 1);
  EXPECT_EQ(input_sets_for(gpu(), kMiB, 100'000 * kMiB, MeasureMode::events), 1);
  EXPECT_EQ(input_sets_for(emulator_facts(), 100, 100'000 * kMiB, MeasureMode::cold), 1);
}

}  // namespace
}  // namespace tilewright
