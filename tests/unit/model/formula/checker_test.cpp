// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/checker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/formula/formula_helpers.hpp"

namespace tilewright::checker_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<KnownName>& known() {
  static const std::vector<KnownName> kNames{
      {"rows", {}}, {"cols", {}}, {"act", {"none", "gelu"}}, {"bias", {"no", "yes"}}, {"dtype", {"f32", "bf16"}}};
  return kNames;
}

std::vector<std::string> mistakes_in(const std::string& text) {
  std::vector<std::string> lines;
  for (const Diagnostic& mistake : Formula::parse(text, {"t.toml", 5, 1}).check(known())) {
    lines.push_back(mistake.text());
  }
  return lines;
}

TEST(Checker, finds_nothing_in_a_right_formula) {
  EXPECT_THAT(mistakes_in("rows * cols * sizeof(dtype)"), IsEmpty());
  EXPECT_THAT(mistakes_in("act == 'gelu' and bias != 'yes' or 'bf16' == dtype"), IsEmpty());
  EXPECT_THAT(mistakes_in("select(act == 'none', rows, -cols) % 3"), IsEmpty());
  EXPECT_THAT(mistakes_in("act == bias"), IsEmpty());
  EXPECT_THAT(mistakes_in("select(rows > 1, act, bias) == act"), IsEmpty());
}

TEST(Checker, finds_every_unknown_name_even_where_no_evaluation_comes) {
  EXPECT_THAT(
      mistakes_in("false and rowz > 1 or select(true, 1, colz)"),
      ElementsAre(HasSubstr("t.toml:5:11: unknown name 'rowz'"), HasSubstr("t.toml:5:39: unknown name 'colz'")));
  EXPECT_THAT(mistakes_in("rowz + 1"), ElementsAre(HasSubstr("did you mean 'rows'?")));
}

TEST(Checker, finds_a_text_that_a_name_never_is) {
  EXPECT_THAT(mistakes_in("act == 'glu'"),
              ElementsAre("t.toml:5:8: 'act' is never 'glu' in `act == 'glu'`; did you mean 'gelu'?"));
  EXPECT_THAT(mistakes_in("'maybe' != bias"), ElementsAre(HasSubstr("t.toml:5:1: 'bias' is never 'maybe'")));
}

TEST(Checker, finds_text_where_a_number_is_needed) {
  EXPECT_THAT(mistakes_in("act"), ElementsAre(HasSubstr("t.toml:5:1: 'act' is text, where a number is needed")));
  EXPECT_THAT(mistakes_in("1 + act * bias"), ElementsAre(HasSubstr("5:5: 'act' is text"), HasSubstr("5:11: 'bias'")));
  EXPECT_THAT(mistakes_in("not act"), ElementsAre(HasSubstr("5:5: 'act' is text")));
  EXPECT_THAT(mistakes_in("select(act, 1, 2)"), ElementsAre(HasSubstr("5:8: 'act' is text")));
  EXPECT_THAT(mistakes_in("1 + select(rows > 1, act, bias)"),
              ElementsAre(HasSubstr("5:5: text where a number is needed")));
}

TEST(Checker, finds_text_compared_with_a_number) {
  EXPECT_THAT(mistakes_in("rows == 'gelu'"), ElementsAre(HasSubstr("5:6: '==' compares text with a number")));
  EXPECT_THAT(mistakes_in("act != 1"), ElementsAre(HasSubstr("5:5: '!=' compares text with a number")));
  EXPECT_THAT(mistakes_in("select(true, act, 1) == 1"), ElementsAre(HasSubstr("5:1: select chooses between")));
}

TEST(Checker, finds_the_size_of_a_dtype_that_does_not_exist) {
  const Formula formula = Formula::parse("sizeof(dtype)");
  EXPECT_THAT(formula.check({}), testing::SizeIs(1));
  const std::vector<KnownName> number{{"dtype", {}}};
  ASSERT_THAT(formula.check(number), testing::SizeIs(1));
  EXPECT_THAT(formula.check(number).front().message, HasSubstr("dtype is not a type"));
}

TEST(Checker, says_one_thing_once) {
  // The unknown name makes the kinds of both comparisons unknown: they have no further mistakes.
  EXPECT_THAT(mistakes_in("(nothing == 'a') + (select(true, nothing, 1) == 'a')"),
              ElementsAre(HasSubstr("5:2: unknown"), HasSubstr("5:34: unknown")));
}

}  // namespace
}  // namespace tilewright::checker_test
