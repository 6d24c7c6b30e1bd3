// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/history_table.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/report/tried_problems.hpp"
#include "tuner/report/render.hpp"

namespace tilewright::testing {
namespace {

HistoryLine line_of(Trial trial, std::optional<Trial> before) {
  return {tried_problem(8, {}).key.problem, "a GPU", false, std::move(trial), std::move(before)};
}

nlohmann::json row_of(const HistoryLine& line) {
  return nlohmann::json::parse(render_json(history_table("t", {line})))["rows"][0];
}

TEST(HistoryTable, tells_whether_a_winner_is_faster_than_the_one_before) {
  const auto verdict = [](double before, double now) {
    return row_of(line_of(made_up_trial("x{w=1}", now), made_up_trial("x{w=2}", before)))["verdict"];
  };
  EXPECT_EQ(verdict(200, 100), "faster");
  EXPECT_EQ(verdict(100, 200), "slower");
  EXPECT_EQ(verdict(100.2, 100), "equal");
  const auto row = row_of(line_of(made_up_trial("x{w=1}", 100), made_up_trial("x{w=2}", 200)));
  EXPECT_DOUBLE_EQ(row["speedup"], 2.0);
  EXPECT_LT(row["speedup_at_least"], 2.0);
  EXPECT_EQ(row["shape_key"], "demo[dtype=bf16]{rows=8,cols=64}");
}

TEST(HistoryTable, keeps_attributes_and_dims_beside_its_own_columns_of_their_names) {
  HistoryLine line = line_of(made_up_trial("x{w=1}", 100), {});
  line.problem.spec.attributes = {{"mode", "fast"}, {"op", "add"}};
  line.problem.dims = {{"speedup", 7}, {"cols", 64}};
  const auto row = row_of(line);
  EXPECT_EQ(row["mode"], "cold");
  EXPECT_EQ(row["attribute_mode"], "fast");
  EXPECT_EQ(row["op"], "demo");
  EXPECT_EQ(row["attribute_op"], "add");
  EXPECT_TRUE(row["speedup"].is_null());
  EXPECT_EQ(row["dim_speedup"], 7);
  EXPECT_EQ(row["cols"], 64);
}

TEST(HistoryTable, of_the_first_winner_nothing_is_known_before) {
  const auto row = row_of(line_of(made_up_trial("x{w=1}", 100), {}));
  EXPECT_EQ(row["verdict"], "first");
  EXPECT_TRUE(row["speedup"].is_null());
  EXPECT_TRUE(row["changed"].is_null());
}

TEST(HistoryTable, names_what_is_different) {
  const Trial before = made_up_trial("x{w=1}", 100);
  Trial now = before;
  EXPECT_EQ(row_of(line_of(now, before))["changed"], "measured again");
  now.versions.driver = 13010;
  EXPECT_EQ(row_of(line_of(now, before))["changed"], "driver");
  EXPECT_EQ(row_of(line_of(now, before))["driver"], "13.1");
  now.config = Config::parse("x{w=2}");
  now.versions.compiler = "NVRTC 13.1";
  now.versions.tilewright = "2.0";
  now.gpu_uuid = "GPU-2";
  EXPECT_EQ(row_of(line_of(now, before))["changed"], "config, driver, compiler, Tilewright, GPU");
}

}  // namespace
}  // namespace tilewright::testing
