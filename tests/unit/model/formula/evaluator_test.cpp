// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/evaluator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/formula/formula_helpers.hpp"

namespace tilewright::evaluator_test {
namespace {

using test::number;
using test::value_mistake;
using ::testing::HasSubstr;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string mistake_in(const std::string& text, std::map<std::string, Value> values = {}) {
  const Diagnostic mistake = value_mistake(text, std::move(values));
  return std::to_string(mistake.column) + ": " + mistake.message;
}

TEST(Evaluator, knows_every_operator) {
  EXPECT_EQ(number("7 + 2"), 9);
  EXPECT_EQ(number("7 - 9"), -2);
  EXPECT_EQ(number("7 * 2"), 14);
  EXPECT_EQ(number("7 / 2"), 3);
  EXPECT_EQ(number("7 % 2"), 1);
  EXPECT_EQ(number("7 == 7"), 1);
  EXPECT_EQ(number("7 != 7"), 0);
  EXPECT_EQ(number("7 < 7"), 0);
  EXPECT_EQ(number("7 <= 7"), 1);
  EXPECT_EQ(number("7 > 7"), 0);
  EXPECT_EQ(number("7 >= 7"), 1);
  EXPECT_EQ(number("7 and 2"), 1);
  EXPECT_EQ(number("7 and 0"), 0);
  EXPECT_EQ(number("0 or 2"), 1);
  EXPECT_EQ(number("0 or 0"), 0);
  EXPECT_EQ(number("not 7"), 0);
}

TEST(Evaluator, knows_every_function) {
  EXPECT_EQ(number("ceil_div(1001, 8)"), 126);
  EXPECT_EQ(number("round_up(1001, 8)"), 1008);
  EXPECT_EQ(number("min(3, 1, 2)"), 1);
  EXPECT_EQ(number("min(3)"), 3);
  EXPECT_EQ(number("max(3, 1, 5, 2)"), 5);
  EXPECT_EQ(number("select(1 < 2, 10, 20)"), 10);
  EXPECT_EQ(number("select(1 > 2, 10, 20)"), 20);
  EXPECT_EQ(number("pow2_ceil(100)"), 128);
  EXPECT_EQ(number("log2(100)"), 6);
  EXPECT_EQ(number("sizeof(f64)"), 8);
}

TEST(Evaluator, divides_towards_zero) {
  EXPECT_EQ(number("-7 / 2"), -3);
  EXPECT_EQ(number("(0 - 7) / 2"), -3);
  EXPECT_EQ(number("(0 - 7) % 2"), -1);
  EXPECT_EQ(number("7 % (0 - 2)"), 1);
}

TEST(Evaluator, looks_names_up) { EXPECT_EQ(number("rows * cols", {{"rows", Value(3)}, {"cols", Value(5)}}), 15); }

TEST(Evaluator, compares_text) {
  const std::map<std::string, Value> gelu{{"act", Value("gelu")}, {"other", Value("relu")}};
  EXPECT_EQ(number("act == 'gelu'", gelu), 1);
  EXPECT_EQ(number("'gelu' == act", gelu), 1);
  EXPECT_EQ(number("act != 'gelu'", gelu), 0);
  EXPECT_EQ(number("act == other", gelu), 0);
  EXPECT_EQ(number("act == ''", gelu), 0);
  EXPECT_EQ(number("select(1, act, other) == 'gelu'", gelu), 1);
}

TEST(Evaluator, skips_what_does_not_decide) {
  EXPECT_EQ(number("false and 1 / 0"), 0);
  EXPECT_EQ(number("true or 1 / 0"), 1);
  EXPECT_EQ(number("select(true, 1, 1 / 0)"), 1);
  EXPECT_EQ(number("select(false, unknown_name, 2)"), 2);
  EXPECT_EQ(number("vec != 0 and cols % vec == 0", {{"vec", Value(0)}, {"cols", Value(8)}}), 0);
}

TEST(Evaluator, evaluates_both_sides_that_decide) {
  EXPECT_THAT(mistake_in("true and 1 / 0"), HasSubstr("division by zero"));
  EXPECT_THAT(mistake_in("false or 1 / 0"), HasSubstr("division by zero"));
  EXPECT_THAT(mistake_in("select(1 / 0, 1, 2)"), HasSubstr("division by zero"));
}

TEST(Evaluator, reports_overflow_with_its_numbers_and_the_column_of_the_operator) {
  const std::map<std::string, Value> most{{"m", Value(kMost)}};
  EXPECT_THAT(mistake_in("m + 1", most), HasSubstr("3: 9223372036854775807 + 1 overflows 64 bits"));
  EXPECT_THAT(mistake_in("1 + m * 2", most), HasSubstr("7: 9223372036854775807 * 2 overflows 64 bits"));
  EXPECT_THAT(mistake_in("-m - 2", most), HasSubstr("4: -9223372036854775807 - 2 overflows 64 bits"));
  EXPECT_THAT(mistake_in("-(-m - 1)", most), HasSubstr("1: -(-9223372036854775808) overflows 64 bits"));
  EXPECT_THAT(mistake_in("(-m - 1) / -1", most), HasSubstr("10: -9223372036854775808 / -1 overflows 64 bits"));
  EXPECT_THAT(mistake_in("1 + pow2_ceil(m)", most), HasSubstr("5: pow2_ceil(9223372036854775807) overflows 64 bits"));
  EXPECT_THAT(mistake_in("round_up(m, 2)", most), HasSubstr("1: round_up(9223372036854775807, 2) overflows 64 bits"));
  EXPECT_EQ(number("(-m - 1) % -1", most), 0);
}

TEST(Evaluator, reports_division_by_zero_at_its_operator) {
  EXPECT_THAT(mistake_in("1 + 4 / 0"), HasSubstr("7: division by zero"));
  EXPECT_THAT(mistake_in("4 % 0"), HasSubstr("3: division by zero"));
  EXPECT_THAT(mistake_in("2 * ceil_div(4, 0)"), HasSubstr("5: division by zero"));
  EXPECT_THAT(mistake_in("round_up(4, 0)"), HasSubstr("1: division by zero"));
}

TEST(Evaluator, refuses_what_a_function_is_not_defined_for) {
  EXPECT_THAT(mistake_in("ceil_div(4, -2)"), HasSubstr("1: ceil_div(4, -2): the second value must be ≥ 1"));
  EXPECT_THAT(mistake_in("round_up(4, -2)"), HasSubstr("1: round_up(4, -2): the second value must be ≥ 1"));
  EXPECT_THAT(mistake_in("ceil_div(4, -1)"), HasSubstr("1: ceil_div(4, -1): the second value must be ≥ 1"));
  EXPECT_THAT(mistake_in("1 + log2(0)"), HasSubstr("5: log2(0): it takes a number ≥ 1"));
}

TEST(Evaluator, suggests_the_name_that_was_meant) {
  const std::map<std::string, Value> dims{{"rows", Value(1)}, {"cols", Value(2)}};
  EXPECT_THAT(mistake_in("rows * colz", dims), HasSubstr("8: unknown name 'colz'"));
  EXPECT_THAT(mistake_in("rows * colz", dims), HasSubstr("did you mean 'cols'?"));
  EXPECT_THAT(mistake_in("heads", dims), HasSubstr("known: cols, rows"));
}

TEST(Evaluator, refuses_text_where_a_number_is_needed) {
  const std::map<std::string, Value> names{{"act", Value("gelu")}, {"m", Value(1)}};
  EXPECT_THAT(mistake_in("1 + act", names), HasSubstr("5: 'act' is the text 'gelu', where a number is needed"));
  EXPECT_THAT(mistake_in("act", names), HasSubstr("1: 'act' is the text 'gelu', where a number is needed"));
  EXPECT_THAT(mistake_in("act < m", names), HasSubstr("1: 'act' is the text"));
  EXPECT_THAT(mistake_in("m == act", names), HasSubstr("3: '==' compares text with a number"));
  EXPECT_THAT(mistake_in("m != 'gelu'", names), HasSubstr("3: '!=' compares text with a number"));
}

TEST(Evaluator, refuses_the_size_of_a_dtype_that_is_none) {
  EXPECT_THAT(mistake_in("2 * sizeof(dtype)"), HasSubstr("5: unknown name 'dtype'"));
  EXPECT_THAT(mistake_in("sizeof(dtype)", {{"dtype", Value(4)}}),
              HasSubstr("1: sizeof(dtype) where dtype is not a type"));
  EXPECT_THAT(mistake_in("sizeof(dtype)", {{"dtype", Value("f8")}}), HasSubstr("dtype is not a type"));
}

}  // namespace
}  // namespace tilewright::evaluator_test
