// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/row_filter.hpp"

#include <gtest/gtest.h>

#include "cache/base/error.hpp"
#include "tuner/report/sources.hpp"

namespace tilewright {
namespace {

Table two() {
  Table table;
  table.columns = {column("dtype", "dtype"), column("cols", "cols"), column("share", "share", Unit::share),
                   column("spilled", "spilled"), column("nothing", "nothing")};
  table.rows = {{"bf16", std::int64_t{4096}, 0.75, true, Cell()}, {"f32", std::int64_t{1024}, Cell(), false, Cell()}};
  return table;
}

/// "10": the first row is kept and the second is not.
std::string kept(const std::string& question) {
  const Table table = two();
  const RowFilter filter = RowFilter::parse(question, "--where", table);
  std::string result;
  for (const auto& row : table.rows) result += filter.keeps(row) ? '1' : '0';
  return result;
}

std::string mistake(const std::string& question) {
  try {
    static_cast<void>(RowFilter::parse(question, "--where", two()));
  } catch (const DefinitionError& error) {
    return error.what();
  }
  return "none";
}

TEST(RowFilter, compares_numbers_and_texts_with_or_without_quotes) {
  EXPECT_EQ(kept("cols>=4096 and dtype=bf16"), "10");
  EXPECT_EQ(kept("cols >= 4096 and dtype == 'bf16'"), "10");
  EXPECT_EQ(kept("dtype != bf16"), "01");
  EXPECT_EQ(kept("bf16 = dtype"), "10");
  EXPECT_EQ(kept("dtype = f64"), "00");
}

TEST(RowFilter, has_the_whole_language_of_formulas) {
  EXPECT_EQ(kept("not (cols < 2000) or dtype = f32"), "11");
  EXPECT_EQ(kept("cols % 4096 = 0"), "10");
  EXPECT_EQ(kept("cols * sizeof(dtype) = 4096"), "01");
  EXPECT_EQ(kept("select(dtype = bf16, cols, 2 * cols) = 2048"), "01");
  EXPECT_EQ(kept("log2(cols) = 12 and min(cols, 7) = 7 and max(1, pow2_ceil(3)) = 4"), "10");
  EXPECT_EQ(kept("ceil_div(cols, 1000) = 5 and round_up(cols, 1000) = 5000 and -cols + 1 < 0"), "10");
}

TEST(RowFilter, takes_what_has_no_value_for_false) {
  EXPECT_EQ(kept("cols % 0"), "00");
  EXPECT_EQ(kept("cols % 0 != 1"), "00");
  EXPECT_EQ(kept("not (cols % 0)"), "11");
}

TEST(RowFilter, takes_fractions_and_divides_as_they_are) {
  EXPECT_EQ(kept("share > 0.7"), "10");
  EXPECT_EQ(kept("cols / 4097 > 0.999"), "10");
  EXPECT_EQ(kept("cols = 4096."), "10");
}

TEST(RowFilter, asks_truth_values_as_they_are) {
  EXPECT_EQ(kept("spilled"), "10");
  EXPECT_EQ(kept("spilled = false"), "01");
}

TEST(RowFilter, is_false_where_a_cell_is_not_known) {
  EXPECT_EQ(kept("share < 1"), "10");
  EXPECT_EQ(kept("share != 0"), "10");
  EXPECT_EQ(kept("share + 1 > 0"), "10");
  EXPECT_EQ(kept("nothing = 1 or nothing = word"), "00");
}

TEST(RowFilter, says_at_which_column_a_name_is_unknown_and_what_is_near) {
  const std::string text = mistake("dtype=bf16 and colz>=4096");
  EXPECT_NE(text.find("there is no column 'colz' at column 16 of"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean 'cols'?"), std::string::npos) << text;
  EXPECT_NE(text.find("--where"), std::string::npos) << text;
}

TEST(RowFilter, refuses_what_cannot_be_compared) {
  EXPECT_NE(mistake("cols = 'bf16'").find("'bf16' is a text, 'cols' a number"), std::string::npos)
      << mistake("cols = 'bf16'");
  EXPECT_NE(mistake("dtype = 16").find("at column 1"), std::string::npos) << mistake("dtype = 16");
  EXPECT_NE(mistake("dtype > 3").find("only compared with = or !="), std::string::npos) << mistake("dtype > 3");
  EXPECT_NE(mistake("dtype").find("a text is not a condition"), std::string::npos) << mistake("dtype");
  EXPECT_NE(mistake("cols = width").find("there is no column 'width'"), std::string::npos) << mistake("cols = width");
}

TEST(RowFilter, refuses_what_is_no_formula_with_its_column) {
  EXPECT_NE(mistake("cols >= ").find("expected a value, found the end"), std::string::npos) << mistake("cols >= ");
  EXPECT_NE(mistake("cols && 1").find("write 'and'"), std::string::npos) << mistake("cols && 1");
  EXPECT_NE(mistake("share > .5").find("a fraction begins with a digit"), std::string::npos) << mistake("share > .5");
  EXPECT_NE(mistake("share > 1.2x").find("'1.2x' is not a number"), std::string::npos) << mistake("share > 1.2x");
  EXPECT_NE(mistake("").find("the formula is empty"), std::string::npos) << mistake("");
  EXPECT_NE(mistake("a = b = c").find("comparisons do not chain"), std::string::npos) << mistake("a = b = c");
}

}  // namespace
}  // namespace tilewright
