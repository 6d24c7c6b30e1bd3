// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/table_query.hpp"

#include <gtest/gtest.h>

#include "cache/base/error.hpp"
#include "tuner/report/sources.hpp"

namespace tilewright {
namespace {

Table three() {
  Table table;
  table.columns = {column("name", "name"), column("time_ns", "time", Unit::nanoseconds), data_column("note"),
                   column("a_x", "x"), column("b_x", "x")};
  table.rows = {{"slow", 30.5, "n1", std::int64_t{1}, std::int64_t{1}},
                {"quick", 10.5, "n2", std::int64_t{1}, std::int64_t{1}},
                {"unknown", Cell(), "n3", std::int64_t{2}, std::int64_t{2}}};
  return table;
}

std::string first_cell(const Table& table, std::size_t row) { return std::get<std::string>(table.rows[row][0]); }

TEST(TableQuery, sorts_either_way_with_what_is_not_known_last) {
  Table table = three();
  apply({.sort = {"time_ns"}}, table);
  EXPECT_EQ(first_cell(table, 0), "quick");
  EXPECT_EQ(first_cell(table, 2), "unknown");
  apply({.sort = {"-time_ns"}}, table);
  EXPECT_EQ(first_cell(table, 0), "slow");
  EXPECT_EQ(first_cell(table, 2), "unknown");
}

TEST(TableQuery, sorts_by_several_columns_and_keeps_the_order_of_equals) {
  Table table = three();
  apply({.sort = {"-a_x"}}, table);
  EXPECT_EQ(first_cell(table, 0), "unknown");
  EXPECT_EQ(first_cell(table, 1), "slow");
  apply({.sort = {"a_x", "name"}}, table);
  EXPECT_EQ(first_cell(table, 0), "quick");
  EXPECT_EQ(first_cell(table, 1), "slow");
}

TEST(TableQuery, cuts_after_filtering_and_sorting) {
  Table table = three();
  apply({.where = "a_x = 1", .sort = {"time_ns"}, .top = 1}, table);
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(first_cell(table, 0), "quick");
}

TEST(TableQuery, chooses_columns_in_the_order_given_and_shows_those_for_programs) {
  Table table = three();
  apply({.columns = {"note", "name"}}, table);
  ASSERT_EQ(table.columns.size(), 2U);
  EXPECT_EQ(table.columns[0].heading, "note");
  EXPECT_EQ(table.columns[0].shown, Shown::everywhere);
  EXPECT_EQ(first_cell(table, 0), "n1");
}

TEST(TableQuery, knows_a_column_by_its_heading_where_only_one_is_called_so) {
  EXPECT_EQ(find_column(three(), "time"), 1U);
  EXPECT_EQ(find_column(three(), "x"), std::nullopt);
  EXPECT_EQ(find_column(three(), ""), std::nullopt);
}

TEST(TableQuery, of_an_unknown_column_names_the_nearest) {
  for (const TableQuery& query : {TableQuery{.sort = {"-tine_ns"}}, TableQuery{.columns = {"tine_ns"}}}) {
    Table table = three();
    try {
      apply(query, table);
      FAIL();
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("there is no column 'tine_ns'; did you mean 'time_ns'?"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace tilewright
