// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/combinations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::combinations_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Combinations : public ::testing::Test {
 protected:
  Combinations() {
    recipe_.name = "tiled";
    recipe_.parameters = {"block", "vec"};
    recipe_.constraints = {Formula::parse("n % vec == 0"), Formula::parse("block * vec <= 512")};
    problem_.dims = {{"n", 100}};
    see(recipe_, Config::parse("tiled{block=64,vec=8}"), seen_);
    see(recipe_, Config::parse("tiled{block=256,vec=4}"), seen_);
    see(recipe_, Config::parse("tiled{block=128,vec=1}"), seen_);
    see(recipe_, Config::parse("other{block=32,vec=2}"), seen_);
  }
  std::vector<std::string> texts() {
    std::vector<std::string> texts;
    for (const Config& config : combinations(recipe_, seen_, problem_, emulator_facts()))
      texts.push_back(config.text());
    return texts;
  }

  ImplementationRecipe recipe_;
  Problem problem_;
  SeenValues seen_;
};

TEST_F(Combinations, are_of_values_that_some_config_has_and_no_constraint_forbids) {
  EXPECT_THAT(texts(), ElementsAre("tiled{block=64,vec=4}", "tiled{block=64,vec=1}", "tiled{block=256,vec=1}",
                                   "tiled{block=128,vec=4}", "tiled{block=128,vec=1}"));
}

TEST_F(Combinations, agree_with_the_judgement_of_one_config) {
  EXPECT_TRUE(allowed(recipe_, Config::parse("tiled{block=64,vec=4}"), problem_, emulator_facts()));
  EXPECT_FALSE(allowed(recipe_, Config::parse("tiled{block=256,vec=4}"), problem_, emulator_facts()));
  EXPECT_FALSE(allowed(recipe_, Config::parse("tiled{block=64,vec=8}"), problem_, emulator_facts()));
}

TEST_F(Combinations, the_verdict_on_a_config_is_the_same_whatever_was_judged_before_it) {
  const DeviceFacts device = emulator_facts();
  Constraints constraints(recipe_, problem_, device);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_FALSE(constraints.allow(Config::parse("tiled{block=256,vec=4}"))) << "the last constraint forbids it";
    EXPECT_TRUE(constraints.allow(Config::parse("tiled{block=64,vec=4}")));
    EXPECT_FALSE(constraints.allow(Config::parse("tiled{block=64,vec=8}"))) << "the first forbids it";
  }
}

TEST_F(Combinations, of_an_architecture_that_the_device_does_not_have_are_none) {
  recipe_.requires_arch = "sm_90a";
  DeviceFacts ampere = emulator_facts();
  ampere.compute_capability = 80;
  EXPECT_THAT(combinations(recipe_, seen_, problem_, ampere), IsEmpty());
  EXPECT_FALSE(allowed(recipe_, Config::parse("tiled{block=64,vec=4}"), problem_, ampere));
}

TEST_F(Combinations, of_nothing_seen_are_none) {
  seen_.clear();
  EXPECT_THAT(texts(), IsEmpty());
}

}  // namespace
}  // namespace tilewright::combinations_test
