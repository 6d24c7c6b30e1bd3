// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/set_cover.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Sets = std::vector<std::vector<std::size_t>>;

/// The smallest cover, by exhaustive search.
std::size_t fewest(std::size_t elements, const Sets& sets) {
  std::size_t best = sets.size() + 1;
  for (std::size_t choice = 0; choice < std::size_t{1} << sets.size(); ++choice) {
    std::set<std::size_t> held;
    std::size_t count = 0;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if ((choice >> i & 1) == 0) continue;
      ++count;
      held.insert(sets[i].begin(), sets[i].end());
    }
    if (held.size() == elements) best = std::min(best, count);
  }
  return best;
}

TEST(SetCover, takes_fewer_than_greed_does) {
  // A greedy choice takes the set of six first and then needs two more.
  const Sets sets{{0, 1, 2, 3, 4, 5}, {0, 1, 2, 6}, {3, 4, 5, 7}};
  const SetCover found = cover(8, sets);
  EXPECT_THAT(found.chosen, ElementsAre(1, 2));
  EXPECT_TRUE(found.proven);
  const SetCover greedy = cover(8, sets, {}, 1);
  EXPECT_EQ(greedy.chosen.size(), 3U);
  EXPECT_FALSE(greedy.proven);
}

TEST(SetCover, takes_nothing_for_what_is_given_or_held_by_none) {
  EXPECT_THAT(cover(3, {{0, 1}, {2}}, {0, 1}).chosen, ElementsAre(1));
  EXPECT_THAT(cover(3, {{0}, {1}}, {0, 1, 2}).chosen, IsEmpty());
  EXPECT_THAT(cover(5, {{0}}).chosen, ElementsAre(0));
  EXPECT_THAT(cover(0, {}).chosen, IsEmpty());
  EXPECT_TRUE(cover(0, {}).proven);
}

TEST(SetCover, takes_the_first_of_equal_sets) { EXPECT_THAT(cover(2, {{0}, {0, 1}, {0, 1}}).chosen, ElementsAre(1)); }

TEST(SetCover, is_as_small_as_any_choice) {
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same sets in every run
  for (int round = 0; round < 200; ++round) {
    const std::size_t elements = 3 + random() % 10;
    const std::size_t count = 2 + random() % 9;
    Sets sets(count);
    for (std::size_t element = 0; element < elements; ++element) {
      sets[random() % count].push_back(element);
      for (auto& set : sets) {
        if (random() % 4 == 0 && std::ranges::find(set, element) == set.end()) set.push_back(element);
      }
    }
    const SetCover found = cover(elements, sets);
    EXPECT_TRUE(found.proven);
    EXPECT_EQ(found.chosen.size(), fewest(elements, sets)) << round;
    std::set<std::size_t> held;
    for (const std::size_t i : found.chosen) held.insert(sets[i].begin(), sets[i].end());
    EXPECT_EQ(held.size(), elements);
  }
}

TEST(SetCover, of_many_sets_ends_with_a_cover) {
  std::mt19937 random(11);  // NOLINT(cert-msc32-c,cert-msc51-cpp)
  Sets sets(400);
  for (auto& set : sets) {
    for (std::size_t element = 0; element < 120; ++element) {
      if (random() % 12 == 0) set.push_back(element);
    }
  }
  const SetCover found = cover(120, sets, {}, 500);
  std::set<std::size_t> held;
  for (const std::size_t i : found.chosen) held.insert(sets[i].begin(), sets[i].end());
  EXPECT_EQ(held.size(), 120U);
  EXPECT_LT(found.chosen.size(), 40U);
}

}  // namespace
}  // namespace tilewright
