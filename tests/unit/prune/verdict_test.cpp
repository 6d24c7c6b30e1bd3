// SPDX-License-Identifier: Apache-2.0
#include "tuner/prune/verdict.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tilewright::testing::verdict_test {
namespace {

TEST(Verdict, tells_what_left_a_config_out_by_how_the_reason_begins) {
  EXPECT_EQ(pruned_by("model: fills 3 of 132 SMs; at best 11× slower than p{x=1}"), kPrunedByModel);
  EXPECT_EQ(pruned_by("occupancy: 255 registers a thread: …"), kPrunedForOccupancy);
  EXPECT_EQ(pruned_by("spills: k spills 200 bytes a thread, more than 128"), "") << "a verdict of older versions";
  EXPECT_EQ(pruned_by("modelled badly"), "");
  EXPECT_EQ(pruned_by(""), "");
}

TEST(Verdict, has_words_of_its_own_for_each_kind) {
  std::set<std::string> kinds;
  for (const char* reason : {"model: a", "occupancy: a", "a"}) kinds.insert(kind_of_prune(reason));
  EXPECT_EQ(kinds.size(), 3U);
  EXPECT_EQ(kind_of_prune("model: a"), kind_of_prune("model: b"));
}

}  // namespace
}  // namespace tilewright::testing::verdict_test
