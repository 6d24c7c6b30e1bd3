// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tuner/report/render.hpp"

namespace tilewright {
namespace {

Table sample() {
  return {"title",
          {{"config", "config"},
           {"time_ns", "time", Unit::nanoseconds},
           {"half", "±", Unit::share, Shown::people},
           {"bytes", "", Unit::none, Shown::programs},
           {"base_ns", "base"},
           {"stale", "stale"}},
          {{Cell(std::string("online{vec=4,\"x\"}")), Cell(3912.123456789), Cell(0.01), Cell(std::int64_t{1} << 40),
            Cell(), Cell(true)}},
          {"a note"}};
}

TEST(RenderJson, keeps_full_precision_and_the_columns_order) {
  const auto json = nlohmann::ordered_json::parse(render_json(sample()));
  EXPECT_EQ(json["title"], "title");
  EXPECT_EQ(json["notes"][0], "a note");
  const auto& row = json["rows"][0];
  EXPECT_EQ(row["config"], "online{vec=4,\"x\"}");
  EXPECT_EQ(row["time_ns"].get<double>(), 3912.123456789);
  EXPECT_EQ(row["bytes"].get<std::int64_t>(), std::int64_t{1} << 40);
  EXPECT_TRUE(row["base_ns"].is_null());
  EXPECT_EQ(row["stale"], true);
  EXPECT_FALSE(row.contains("half"));
  EXPECT_EQ(row.begin().key(), "config");
}

TEST(RenderJson, of_no_rows_has_an_empty_list) {
  Table table = sample();
  table.rows.clear();
  EXPECT_EQ(nlohmann::json::parse(render_json(table))["rows"], nlohmann::json::array());
}

TEST(RenderJson, survives_text_that_is_no_utf8) {
  Table table = sample();
  table.rows[0][0] = Cell(std::string("bad \xff byte"));
  EXPECT_TRUE(nlohmann::json::accept(render_json(table)));
}

TEST(RenderCsv, quotes_what_needs_it_and_nothing_else) {
  EXPECT_EQ(render_csv(sample()),
            "config,time_ns,bytes,base_ns,stale\n"
            "\"online{vec=4,\"\"x\"\"}\",3912.123456789,1099511627776,,true\n");
}

TEST(RenderCsv, quotes_line_breaks) {
  const Table table{"", {{"log", "log"}}, {{Cell(std::string("a\nb"))}}, {}};
  EXPECT_EQ(render_csv(table), "log\n\"a\nb\"\n");
}

}  // namespace
}  // namespace tilewright
