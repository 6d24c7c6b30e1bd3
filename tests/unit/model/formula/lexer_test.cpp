// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/lexer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/formula/formula_helpers.hpp"

namespace tilewright::lexer_test {
namespace {

using test::parse_mistake;
using ::testing::HasSubstr;

TEST(Lexer, finds_every_kind_of_token_with_its_offset) {
  const SourceText source("rows_1 <= 42 'a b'", {});
  const std::vector<Token> tokens = tokens_of(source);
  ASSERT_EQ(tokens.size(), 5U);
  EXPECT_EQ(tokens[0].kind, Token::Kind::word);
  EXPECT_EQ(tokens[0].spelling, "rows_1");
  EXPECT_TRUE(tokens[1].is_symbol("<="));
  EXPECT_EQ(tokens[1].offset, 7U);
  EXPECT_EQ(tokens[2].number, 42);
  EXPECT_EQ(tokens[3].kind, Token::Kind::text);
  EXPECT_EQ(tokens[3].spelling, "a b");
  EXPECT_EQ(tokens[3].offset, 13U);
  EXPECT_EQ(tokens[4].kind, Token::Kind::end);
  EXPECT_EQ(tokens[4].offset, 18U);
}

TEST(Lexer, needs_no_spaces) {
  const SourceText source("a<=b==-c%2", {});
  EXPECT_EQ(canonical_text(tokens_of(source)), "a <= b == - c % 2");
}

TEST(Lexer, canonical_text_forgets_spacing_and_keeps_quotes) {
  const SourceText source("  min( a ,\n\t'x  y' )", {});
  EXPECT_EQ(canonical_text(tokens_of(source)), "min ( a , 'x  y' )");
}

TEST(Lexer, takes_numbers_up_to_the_last_one) {
  EXPECT_EQ(test::number("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(test::number("007"), 7);
  const Diagnostic mistake = parse_mistake("1 + 9223372036854775808");
  EXPECT_EQ(mistake.column, 5);
  EXPECT_THAT(mistake.message, HasSubstr("9223372036854775808 is beyond 2^63-1"));
}

TEST(Lexer, refuses_a_number_that_runs_into_letters) {
  const Diagnostic mistake = parse_mistake("2 * 12ab");
  EXPECT_EQ(mistake.column, 5);
  EXPECT_THAT(mistake.message, HasSubstr("'12ab' is not a whole number"));
  EXPECT_THAT(parse_mistake("1_000").message, HasSubstr("'1_000' is not a whole number"));
  EXPECT_THAT(parse_mistake("99999999999999999999x").message, HasSubstr("is not a whole number"));
}

TEST(Lexer, says_what_to_write_instead_of_signs_of_other_languages) {
  const std::pair<const char*, const char*> cases[] = {
      {"a && b", "; write 'and'"},        {"a || b", "; write 'or'"},
      {"a ! b", "; write 'not'"},         {"a = b", "; to compare, write '=='"},
      {"a ? b : c", "; write select("},   {"a \"b\"", "; text stands in single quotes"},
      {"1 . 5", "; formulas have whole"}, {"a & b", "; there are no bit operators"},
      {"a [1]", "; group with"},          {"a | b", "; there are no bit operators"},
  };
  for (const auto& [text, hint] : cases) {
    const Diagnostic mistake = parse_mistake(text);
    EXPECT_EQ(mistake.column, 3) << text;
    EXPECT_THAT(mistake.message, HasSubstr("is not understood")) << text;
    EXPECT_THAT(mistake.message, HasSubstr(hint)) << text;
  }
}

TEST(Lexer, shows_a_character_of_several_bytes_whole) {
  const Diagnostic mistake = parse_mistake("a \u2264 b");
  EXPECT_EQ(mistake.column, 3);
  EXPECT_THAT(mistake.message, HasSubstr("'\u2264' is not understood"));
}

TEST(Lexer, finds_text_without_its_closing_quote) {
  const Diagnostic mistake = parse_mistake("act == 'gelu");
  EXPECT_EQ(mistake.column, 8);
  EXPECT_THAT(mistake.message, HasSubstr("without its closing quote"));
}

}  // namespace
}  // namespace tilewright::lexer_test
