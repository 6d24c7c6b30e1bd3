// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/occupancy.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

DeviceFacts small_h200() {
  DeviceFacts facts = emulator_facts();
  facts.name = "NVIDIA H200";
  facts.compute_capability = 90;
  return facts;
}

// Expected values: NVIDIA's occupancy calculator for compute capability 9.0.
TEST(Occupancy, is_what_the_tightest_resource_allows) {
  EXPECT_EQ(occupancy({256, 32, 0}, small_h200()), 1.0);
  EXPECT_EQ(occupancy({256, 40, 0}, small_h200()), 0.75);
  EXPECT_EQ(occupancy({256, 128, 0}, small_h200()), 0.25);
  EXPECT_EQ(occupancy({1024, 33, 0}, small_h200()), 0.5);
  EXPECT_EQ(occupancy({32, 16, 0}, small_h200()), 0.5);
  EXPECT_EQ(occupancy({256, 32, 100 << 10}, small_h200()), 0.25);
  EXPECT_EQ(occupancy({128, 168, 227 << 10}, small_h200()), 0.0625);
}

TEST(Occupancy, counts_blocks_as_the_architecture_does) {
  DeviceFacts ada = small_h200();
  ada.compute_capability = 89;
  ada.max_threads_per_sm = 1536;
  EXPECT_EQ(occupancy({32, 16, 0}, ada), 0.5);
}

TEST(Occupancy, is_not_known_of_the_emulator_without_registers_and_of_what_does_not_fit) {
  EXPECT_FALSE(occupancy({256, 32, 0}, emulator_facts()));
  EXPECT_FALSE(occupancy({256, 0, 0}, small_h200()));
  EXPECT_FALSE(occupancy({0, 32, 0}, small_h200()));
  EXPECT_FALSE(occupancy({1024, 255, 0}, small_h200()));
  EXPECT_FALSE(occupancy({256, 32, 300 << 10}, small_h200()));
}

}  // namespace
}  // namespace tilewright
