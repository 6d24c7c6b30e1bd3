// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/section.hpp"

#include <gmock/gmock.h>

namespace tilewright::reading {
namespace {

using ::testing::ElementsAre;

/// Reads tables and collects the mistakes found.
class SectionTest : public testing::Test {
 protected:
  Section section(std::string_view toml) {
    root_ = parse_toml(toml, "f.toml");
    return {root_, "[op]", mistakes_};
  }

  [[nodiscard]] std::vector<std::string> found() const {
    std::vector<std::string> texts;
    try {
      mistakes_.throw_if_any();
    } catch (const DefinitionError& error) {
      for (const Diagnostic& mistake : error.mistakes()) texts.push_back(mistake.text());
    }
    return texts;
  }

  Node root_;
  Mistakes mistakes_{"f.toml"};
};

TEST_F(SectionTest, hands_out_values_and_null_for_what_may_be_left_out) {
  Section op = section("name = 'x'\n");
  ASSERT_NE(op.need("name", Node::Kind::text), nullptr);
  EXPECT_EQ(op.need("name", Node::Kind::text)->text, "x");
  EXPECT_EQ(op.find("summary"), nullptr);
  EXPECT_THAT(found(), ElementsAre());
}

TEST_F(SectionTest, says_what_is_missing) {
  Section op = section("a = 1\n");
  EXPECT_EQ(op.need("dims"), nullptr);
  EXPECT_THAT(found(), ElementsAre("f.toml:1:1: [op] has no 'dims'"));
}

TEST_F(SectionTest, says_what_has_another_type) {
  Section op = section("dims = 3\nname = ['x']\n");
  EXPECT_EQ(op.need_texts("dims"), nullptr);
  EXPECT_EQ(op.find("name", Node::Kind::text), nullptr);
  EXPECT_THAT(found(), ElementsAre("f.toml:1:8: 'dims' in [op] must be a list, and is an integer",
                                   "f.toml:2:8: 'name' in [op] must be a text, and is a list"));
}

TEST_F(SectionTest, says_which_items_of_a_list_are_no_texts) {
  Section op = section("dims = ['a', 2, true]\n");
  EXPECT_EQ(op.find_texts("dims"), nullptr);
  EXPECT_THAT(found(), ElementsAre("f.toml:1:14: each of 'dims' in [op] must be a text, and is an integer",
                                   "f.toml:1:17: each of 'dims' in [op] must be a text, and is true or false"));
}

TEST_F(SectionTest, reports_keys_that_nobody_asked_for_and_calls_the_rest_usable) {
  Section op = section("nmae = 'x'\nzzz = 1\n");
  static_cast<void>(op.find("name"));
  op.finish();
  EXPECT_THAT(found(), ElementsAre("f.toml:1:1: unknown key 'nmae' in [op]; did you mean 'name'?",
                                   "f.toml:2:1: unknown key 'zzz' in [op]; known: name"));
  EXPECT_EQ(mistakes_.unusable(), 0U);
}

TEST_F(SectionTest, takes_numbers_with_and_without_a_fraction) {
  Section op = section("a = 2\nb = 0.5\nc = 'x'\n");
  EXPECT_EQ(number_of(*op.find("a"), "a", mistakes_), 2.0);
  EXPECT_EQ(number_of(*op.find("b"), "b", mistakes_), 0.5);
  EXPECT_EQ(number_of(*op.find("c"), "c", mistakes_), std::nullopt);
  EXPECT_THAT(found(), ElementsAre("f.toml:3:5: c must be a number, and is a text"));
}

}  // namespace
}  // namespace tilewright::reading
