// SPDX-License-Identifier: Apache-2.0
#include "cache/formula/source_text.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(SourceText, adds_the_offset_to_the_column_where_the_formula_stands) {
  const SourceText source("a + b", {"softmax.toml", 12, 30});
  EXPECT_EQ(source.diagnostic(0, "wrong").text(), "softmax.toml:12:30: wrong in `a + b`");
  EXPECT_EQ(source.diagnostic(4, "wrong", "; so there").text(), "softmax.toml:12:34: wrong in `a + b`; so there");
}

TEST(SourceText, tells_the_column_within_a_formula_that_stands_in_no_file) {
  EXPECT_EQ(SourceText("a + b", {}).diagnostic(4, "wrong").text(), "formula: wrong at column 5 of `a + b`");
  EXPECT_EQ(SourceText("a + b", {"recipe of onchip", 0, 0}).diagnostic(0, "wrong").text(),
            "recipe of onchip: wrong at column 1 of `a + b`");
}

TEST(SourceText, counts_lines_of_a_formula_that_has_several) {
  const SourceText source("a +\n  b", {"x.toml", 3, 10});
  EXPECT_EQ(source.diagnostic(2, "wrong").line, 3);
  EXPECT_EQ(source.diagnostic(2, "wrong").column, 12);
  EXPECT_EQ(source.diagnostic(6, "wrong").line, 4);
  EXPECT_EQ(source.diagnostic(6, "wrong").column, 3);
}

TEST(SourceText, counts_characters_and_not_bytes) {
  EXPECT_EQ(SourceText("'\u00e9\u20ac' x", {}).diagnostic(8, "wrong").column, 6);
}

TEST(SourceText, fails_with_its_diagnostic) {
  const SourceText source("a", {"x.toml", 1, 1});
  try {
    source.fail(0, "wrong");
    FAIL() << "nothing was thrown";
  } catch (const DefinitionError& error) {
    ASSERT_EQ(error.mistakes().size(), 1U);
    EXPECT_STREQ(error.what(), "x.toml:1:1: wrong in `a`");
  }
}

}  // namespace
}  // namespace tilewright
