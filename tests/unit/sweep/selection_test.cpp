// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/selection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tilewright {
namespace {

std::vector<Candidate> candidates(int onchip, int online) {
  std::vector<Candidate> all;
  for (int i = 0; i < onchip; ++i) all.push_back({Config{"onchip", {{"vec", i}}}, nullptr});
  for (int i = 0; i < online; ++i) all.push_back({Config{"online", {{"vec", i}}}, nullptr});
  return all;
}

const Config kBase{"online", {{"vec", 3}}};

std::set<std::string> texts(const std::vector<Candidate>& selected) {
  std::set<std::string> all;
  for (const Candidate& candidate : selected) all.insert(candidate.config.text());
  return all;
}

TEST(SelectCandidates, takes_all_when_there_are_few_or_no_limit) {
  EXPECT_EQ(select_candidates(candidates(10, 5), 0, kBase).size(), 15U);
  EXPECT_EQ(select_candidates(candidates(10, 5), 15, kBase).size(), 15U);
}

TEST(SelectCandidates, takes_equal_parts_of_each_implementation_and_the_base) {
  const auto selected = select_candidates(candidates(100, 50), 24, kBase);
  EXPECT_EQ(selected.size(), 24U);
  const auto onchip = std::count_if(selected.begin(), selected.end(), [](const Candidate& candidate) {
    return candidate.config.implementation == "onchip";
  });
  EXPECT_EQ(onchip, 12);
  EXPECT_EQ(texts(selected).count(kBase.text()), 1U);
}

TEST(SelectCandidates, fills_up_from_the_others_where_one_has_few) {
  const auto selected = select_candidates(candidates(100, 4), 24, kBase);
  EXPECT_EQ(selected.size(), 24U);
  EXPECT_EQ(texts(selected).count("online{vec=0}"), 1U);
}

TEST(SelectCandidates, of_one_is_the_base) {
  const auto selected = select_candidates(candidates(10, 10), 1, kBase);
  ASSERT_EQ(selected.size(), 1U);
  EXPECT_EQ(selected.front().config, kBase);
}

TEST(SelectCandidates, keeps_the_definitions_order) {
  const auto all = candidates(30, 30);
  const auto selected = select_candidates(all, 20, kBase);
  std::size_t last = 0;
  for (const Candidate& candidate : selected) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Candidate& other) { return other.config == candidate.config; });
    const auto position = static_cast<std::size_t>(found - all.begin());
    EXPECT_GE(position, last);
    last = position;
  }
}

TEST(SelectCandidates, prefers_the_same_configs_whatever_else_is_legal) {
  // Without each third config, as another shape's constraints might require.
  std::vector<Candidate> fewer;
  for (const Candidate& candidate : candidates(100, 0)) {
    if (candidate.config.values[0].second % 3 != 0) fewer.push_back(candidate);
  }
  const auto many = texts(select_candidates(candidates(100, 0), 30, kBase));
  const auto few = texts(select_candidates(fewer, 30, kBase));
  // All legal configs of the first selection are in the second.
  for (const std::string& config : many) {
    const bool legal = Config::parse(config).values[0].second % 3 != 0;
    if (legal) {
      EXPECT_EQ(few.count(config), 1U) << config;
    }
  }
}

}  // namespace
}  // namespace tilewright
