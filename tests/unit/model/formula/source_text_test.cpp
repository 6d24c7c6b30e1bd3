// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/source_text.hpp"

#include <gtest/gtest.h>

namespace tilewright::source_text_test {
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

TEST(SourceText, of_pieces_tells_the_place_in_the_piece_at_fault) {
  const std::vector<FormulaPiece> pieces{
      {"a + (", {"op.toml", 3, 10}}, {"b /\n 0)", {"fragment.toml", 7, 2}}, {" * c", {"op.toml", 3, 20}}};
  const SourceText source(pieces);
  EXPECT_EQ(source.text(), "a + (b /\n 0) * c");
  EXPECT_EQ(source.place().column, 10);
  const auto place = [&](std::size_t offset) {
    const Diagnostic found = source.diagnostic(offset, "wrong");
    return found.file + ":" + std::to_string(found.line) + ":" + std::to_string(found.column);
  };
  EXPECT_EQ(place(4), "op.toml:3:14");
  EXPECT_EQ(place(5), "fragment.toml:7:2");
  EXPECT_EQ(place(7), "fragment.toml:7:4");
  EXPECT_EQ(place(10), "fragment.toml:8:2");
  EXPECT_EQ(place(13), "op.toml:3:21");
  EXPECT_EQ(place(source.text().size()), "op.toml:3:24");
  ASSERT_EQ(source.pieces().size(), 3U);
  EXPECT_EQ(source.pieces()[1].text, pieces[1].text);
  EXPECT_EQ(source.pieces()[1].place.file, "fragment.toml");
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
}  // namespace tilewright::source_text_test
