// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/revalidate.hpp"

#include <gtest/gtest.h>

namespace tilewright::testing {
namespace {

StaleWinner stale(double median_ns) {
  StaleWinner before;
  before.config = Config::parse("a{x=1}");
  before.median_ns = median_ns;
  return before;
}

Winner winner(const std::string& config, double median_ns) {
  Winner now;
  now.trial.config = Config::parse(config);
  now.trial.timing.emplace().median_ns = median_ns;
  return now;
}

TEST(Judge, keeps_a_winner_that_is_as_fast_as_it_was) {
  const Winner same = winner("a{x=1}", 1020);
  const Winner faster = winner("a{x=1}", 700);
  EXPECT_EQ(judge(stale(1000), &same), Revalidated::kept);
  EXPECT_EQ(judge(stale(1000), &faster), Revalidated::kept);
}

TEST(Judge, promotes_another_leader_that_is_as_fast_as_the_winner_was) {
  const Winner other = winner("a{x=2}", 990);
  EXPECT_EQ(judge(stale(1000), &other), Revalidated::promoted);
}

TEST(Judge, asks_for_a_search_where_all_leaders_are_slower_or_wrong) {
  const Winner slower = winner("a{x=1}", 1031);
  EXPECT_EQ(judge(stale(1000), &slower), Revalidated::resweep);
  EXPECT_EQ(judge(stale(1000), nullptr), Revalidated::resweep);
}

TEST(Judge, says_its_verdicts_in_words) {
  EXPECT_EQ(name(Revalidated::kept), "kept");
  EXPECT_EQ(name(Revalidated::promoted), "promoted");
  EXPECT_EQ(name(Revalidated::resweep), "re-swept");
}

}  // namespace
}  // namespace tilewright::testing
