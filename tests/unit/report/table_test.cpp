// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/table.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(ShowCell, scales_by_the_columns_unit) {
  EXPECT_EQ(show_cell(Cell(3912.0), Unit::nanoseconds), "3.912 µs");
  EXPECT_EQ(show_cell(Cell(std::int64_t{65536}), Unit::bytes), "64 KiB");
  EXPECT_EQ(show_cell(Cell(0.5), Unit::share), "50.0 %");
  EXPECT_EQ(show_cell(Cell(2.0), Unit::ratio), "2.00x");
  EXPECT_EQ(show_cell(Cell(4312.7), Unit::rate), "4313");
}

TEST(ShowCell, shows_plain_values_as_they_are) {
  EXPECT_EQ(show_cell(Cell(std::string("onchip{}")), Unit::none), "onchip{}");
  EXPECT_EQ(show_cell(Cell(std::int64_t{1'000'003}), Unit::none), "1000003");
  EXPECT_EQ(show_cell(Cell(true), Unit::none), "yes");
  EXPECT_EQ(show_cell(Cell(false), Unit::none), "no");
}

TEST(ShowCell, shows_three_digits_of_what_has_no_unit) {
  EXPECT_EQ(show_cell(Cell(1.1920928955078125e-07), Unit::none), "1.19e-07");
  EXPECT_EQ(show_cell(Cell(0.0078125), Unit::none), "0.00781");
  EXPECT_EQ(show_cell(Cell(0.0), Unit::none), "0");
}

TEST(ShowCell, shows_a_dash_for_what_is_not_known) { EXPECT_EQ(show_cell(Cell(), Unit::nanoseconds), "-"); }

TEST(Format, is_known_by_four_names) {
  EXPECT_EQ(format_from("text"), Format::text);
  EXPECT_EQ(format_from("json"), Format::json);
  EXPECT_EQ(format_from("csv"), Format::csv);
  EXPECT_EQ(format_from("markdown"), Format::markdown);
  EXPECT_EQ(format_from("JSON"), std::nullopt);
  EXPECT_EQ(format_from(""), std::nullopt);
}

TEST(Render, prints_the_same_rows_in_the_form_asked_for) {
  const Table table{"t", {{"time_ns", "time", Unit::nanoseconds}}, {{Cell(3912.0)}}, {}};
  EXPECT_EQ(render(table, Format::text), "t\n\n    time\n--------\n3.912 µs\n");
  EXPECT_EQ(render(table, Format::csv), "time_ns\n3912\n");
  EXPECT_EQ(render(table, Format::markdown), "**t**\n\n| time |\n| ---: |\n| 3.912 µs |\n");
  EXPECT_NE(render(table, Format::json).find("\"time_ns\": 3912.0"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
