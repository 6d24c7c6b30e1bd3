// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/parser.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/formula/formula_helpers.hpp"

namespace tilewright::parser_test {
namespace {

using test::number;
using test::parse_mistake;
using ::testing::HasSubstr;

/// A mistake's column and message in one line.
std::string mistake_in(const std::string& text) {
  const Diagnostic mistake = parse_mistake(text);
  return std::to_string(mistake.column) + ": " + mistake.message;
}

std::string repeated(const std::string& piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

TEST(Parser, binds_products_before_sums_before_comparison_before_logic) {
  EXPECT_EQ(number("1 + 2 * 3"), 7);
  EXPECT_EQ(number("(1 + 2) * 3"), 9);
  EXPECT_EQ(number("1 + 2 == 3 and 2 * 2 == 4"), 1);
  EXPECT_EQ(number("true or false and false"), 1);
  EXPECT_EQ(number("(true or false) and false"), 0);
}

TEST(Parser, groups_to_the_left) {
  EXPECT_EQ(number("10 - 4 - 3"), 3);
  EXPECT_EQ(number("100 / 5 / 2"), 10);
  EXPECT_EQ(number("100 / 5 * 2"), 40);
  EXPECT_EQ(number("17 % 10 % 4"), 3);
  EXPECT_EQ(number("9 - 7 % 4"), 6) << "and first what binds more tightly";
}

TEST(Parser, not_takes_a_whole_comparison) {
  EXPECT_EQ(number("not 1 == 2"), 1);
  EXPECT_EQ(number("not not 5"), 1);
  EXPECT_EQ(number("not false and false"), 0);
  EXPECT_EQ(number("(not 0) + 1"), 2);
}

TEST(Parser, minus_binds_tightest) {
  EXPECT_EQ(number("-2 * -3"), 6);
  EXPECT_EQ(number("--2"), 2);
  EXPECT_EQ(number("1 - -1"), 2);
  EXPECT_EQ(number("-7 / 2"), -3);
}

TEST(Parser, a_word_is_a_function_only_before_a_parenthesis) {
  EXPECT_EQ(number("min + min(1, 2)", {{"min", Value(10)}}), 11);
}

TEST(Parser, refuses_an_empty_formula) {
  EXPECT_THAT(mistake_in(""), HasSubstr("1: the formula is empty"));
  EXPECT_THAT(mistake_in("   "), HasSubstr("1: the formula is empty"));
}

TEST(Parser, tells_the_column_of_what_it_did_not_expect) {
  EXPECT_THAT(mistake_in("1 +"), HasSubstr("4: expected a value, found the end"));
  EXPECT_THAT(mistake_in("1 + * 2"), HasSubstr("5: expected a value, found '*'"));
  EXPECT_THAT(mistake_in("a b"), HasSubstr("3: expected an operator, found 'b'"));
  EXPECT_THAT(mistake_in("(a"), HasSubstr("3: expected ')', found the end"));
  EXPECT_THAT(mistake_in("a)"), HasSubstr("2: expected an operator, found ')'"));
  EXPECT_THAT(mistake_in("min(1 2)"), HasSubstr("7: expected ')', found '2'"));
  EXPECT_THAT(mistake_in("min(1,)"), HasSubstr("7: expected a value, found ')'"));
  EXPECT_THAT(mistake_in("and b"), HasSubstr("1: expected a value, found 'and'"));
  EXPECT_THAT(mistake_in("a == 'x' 'y'"), HasSubstr("10: expected an operator, found the text 'y'"));
}

TEST(Parser, refuses_a_chain_of_comparisons) {
  EXPECT_THAT(mistake_in("1 < a < 3"), HasSubstr("7: comparisons do not chain"));
  EXPECT_THAT(mistake_in("a == b == c"), HasSubstr("8: comparisons do not chain"));
  EXPECT_EQ(number("(1 < 2) == (2 < 3)"), 1);
}

TEST(Parser, refuses_not_where_a_value_must_stand) {
  EXPECT_THAT(mistake_in("1 + not 2"), HasSubstr("5: expected a value, found 'not'"));
  EXPECT_THAT(mistake_in("-not 2"), HasSubstr("2: expected a value, found 'not'"));
  EXPECT_THAT(mistake_in("1 == not 2"), HasSubstr("6: expected a value, found 'not'"));
}

TEST(Parser, suggests_the_function_that_was_meant) {
  EXPECT_THAT(mistake_in("1 + ceildiv(a, b)"), HasSubstr("5: unknown function 'ceildiv'"));
  EXPECT_THAT(mistake_in("ceildiv(a, b)"), HasSubstr("did you mean 'ceil_div'?"));
  EXPECT_THAT(mistake_in("frobnicate(a)"), HasSubstr("known: ceil_div, round_up, min, max, select, pow2_ceil, log2"));
}

TEST(Parser, counts_the_values_that_a_function_takes) {
  EXPECT_THAT(mistake_in("1 + ceil_div(1)"), HasSubstr("5: ceil_div takes two values, not 1"));
  EXPECT_THAT(mistake_in("round_up(1, 2, 3)"), HasSubstr("1: round_up takes two values, not 3"));
  EXPECT_THAT(mistake_in("select(1, 2)"), HasSubstr("1: select takes three values, not 2"));
  EXPECT_THAT(mistake_in("log2(1, 2)"), HasSubstr("1: log2 takes one value, not 2"));
  EXPECT_THAT(mistake_in("pow2_ceil()"), HasSubstr("1: pow2_ceil takes one value, not 0"));
  EXPECT_THAT(mistake_in("min()"), HasSubstr("1: min takes one value or more, not 0"));
}

TEST(Parser, sizeof_takes_dtype_or_a_type) {
  EXPECT_EQ(number("sizeof(f32) + sizeof(bf16) + sizeof(u8)"), 7);
  EXPECT_EQ(number("sizeof(dtype)", {{"dtype", Value("f16")}}), 2);
  EXPECT_THAT(mistake_in("2 * sizeof(f23)"), HasSubstr("12: sizeof takes dtype or a type, found 'f23'"));
  EXPECT_THAT(mistake_in("sizeof(f23)"), HasSubstr("did you mean 'f32'?"));
  EXPECT_THAT(mistake_in("sizeof(4)"), HasSubstr("8: sizeof takes dtype or a type, found '4'"));
  EXPECT_THAT(mistake_in("sizeof('f32')"), HasSubstr("8: sizeof takes dtype or a type, found the text 'f32'"));
  EXPECT_THAT(mistake_in("sizeof(dtype"), HasSubstr("13: expected ')', found the end"));
  EXPECT_THAT(mistake_in("sizeof()"), HasSubstr("found ')'"));
}

TEST(Parser, refuses_text_outside_a_comparison) {
  const std::string rule = "can only be compared, with == or !=";
  EXPECT_THAT(mistake_in("'gelu'"), HasSubstr("1: the text 'gelu' " + rule));
  EXPECT_THAT(mistake_in("1 + 'gelu'"), HasSubstr("5: the text 'gelu' " + rule));
  EXPECT_THAT(mistake_in("act < 'gelu'"), HasSubstr("7: the text 'gelu' " + rule));
  EXPECT_THAT(mistake_in("not 'gelu'"), HasSubstr("5: the text 'gelu' " + rule));
  EXPECT_THAT(mistake_in("select(1, 'a', 'b') == act"), HasSubstr("11: the text 'a' " + rule));
  EXPECT_THAT(mistake_in("act == 'x' and ('y')"), HasSubstr("17: the text 'y' " + rule));
}

TEST(Parser, bounds_the_depth_so_that_no_stack_is_exhausted) {
  EXPECT_EQ(number(repeated("(", 150) + "1" + repeated(")", 150)), 1);
  EXPECT_THAT(mistake_in(repeated("(", 10000) + "1"), HasSubstr("201: nested deeper than 200 levels"));
  EXPECT_THAT(mistake_in(repeated("-", 10000) + "1"), HasSubstr("nested deeper than 200 levels"));
  EXPECT_THAT(mistake_in(repeated("not ", 10000) + "1"), HasSubstr("nested deeper than 200 levels"));
  EXPECT_THAT(mistake_in("1" + repeated(" + 1", 10000)), HasSubstr("nested deeper than 200 levels"));
  EXPECT_EQ(number("1" + repeated(" + 1", 150)), 151);
}

}  // namespace
}  // namespace tilewright::parser_test
