// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/compare_table.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/report/tried_problems.hpp"
#include "tuner/report/render.hpp"

namespace tilewright::testing {
namespace {

CompareLine compared(std::int64_t rows, double a, double b) {
  CompareLine line{tried_problem(rows, {}).key.problem, {}, {}};
  if (a > 0) line.a = best_of(tried_problem(rows, {{"x{w=1}", a}}));
  if (b > 0) line.b = best_of(tried_problem(rows, {{"x{w=2}", b}}));
  return line;
}

TEST(SpeedUp, is_significant_where_no_interval_holds_one) {
  const SpeedUp twice = speed_up(made_up_trial("x", 200), made_up_trial("x", 100));
  EXPECT_DOUBLE_EQ(twice.ratio, 2.0);
  EXPECT_TRUE(twice.significant());
  EXPECT_LT(twice.low, 2.0);
  EXPECT_GT(twice.high, 2.0);
  EXPECT_TRUE(speed_up(made_up_trial("x", 100), made_up_trial("x", 200)).significant());
}

TEST(SpeedUp, of_half_a_per_cent_is_none_at_another_moment) {
  EXPECT_FALSE(speed_up(made_up_trial("x", 100.5), made_up_trial("x", 100)).significant());
  EXPECT_TRUE(speed_up(made_up_trial("x", 102), made_up_trial("x", 100)).significant());
}

TEST(BestOf, is_the_winner_that_the_cache_names_else_the_fastest) {
  TriedProblem problem = tried_problem(1, {{"x{w=1}", 100}, {"x{w=2}", 101}, {"x{w=3}", 0}});
  problem.winner = Config::parse("x{w=2}");
  EXPECT_EQ(best_of(problem)->trial.config.text(), "x{w=2}");
  problem.winner.reset();
  EXPECT_EQ(best_of(problem)->trial.config.text(), "x{w=1}");
  EXPECT_FALSE(best_of(tried_problem(1, {{"x{w=1}", 0}})));
}

TEST(CompareTable, has_the_problems_of_both_sides_with_speed_up_and_verdict) {
  const Table table =
      compare_table("t", "old", "new", {compared(1, 200, 100), compared(2, 100, 200), compared(3, 100, 100)});
  const auto rows = nlohmann::json::parse(render_json(table))["rows"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_DOUBLE_EQ(rows[0]["speedup"], 2.0);
  EXPECT_EQ(rows[0]["verdict"], "faster");
  EXPECT_EQ(rows[1]["verdict"], "slower");
  EXPECT_EQ(rows[2]["verdict"], "equal");
  EXPECT_EQ(rows[2]["significant"], false);
  EXPECT_EQ(rows[0]["same_config"], false);
  EXPECT_DOUBLE_EQ(rows[0]["a_time_ns"], 200.0);
  EXPECT_EQ(rows[0]["b_compiler"], "NVRTC 13.0");
}

TEST(CompareTable, places_both_sides_under_the_ceiling_of_their_own) {
  CompareLine line = compared(1, 200, 100);
  line.a->roofline.bytes = line.b->roofline.bytes = 1000;
  line.a->roofline.flops = line.b->roofline.flops = 0;
  line.b->roofline.ceiling.emplace();
  line.b->roofline.ceiling->bytes = 1000;
  line.b->roofline.ceiling->copy_op_ns = 80;
  const Table table = compare_table("t", "old", "new", {line});
  const auto row = nlohmann::json::parse(render_json(table))["rows"][0];
  EXPECT_DOUBLE_EQ(row["b_share_of_ceiling"], 0.8);
  EXPECT_TRUE(row["a_share_of_ceiling"].is_null()) << "no ceiling was measured there";
  EXPECT_DOUBLE_EQ(row["a_gb_per_s"], 5.0);
  EXPECT_DOUBLE_EQ(row["b_gb_per_s"], 10.0);
  EXPECT_EQ(row["b_bound"], "memory");
  EXPECT_EQ(row["b_bytes"], 1000);
  EXPECT_NE(render_text(table, 0).find("B of ceiling"), std::string::npos);
}

TEST(CompareTable, sums_up_below) {
  const Table table = compare_table("t", "old", "new", {compared(1, 200, 100), compared(2, 100, 200)});
  EXPECT_EQ(
      table.notes.front(),
      "B (new) against A (old) over 2 problems: 1.000x on geometric mean; faster in 1, slower in 1, not told apart "
      "in 0.");
}

TEST(CompareTable, counts_what_one_side_alone_has) {
  const Table table = compare_table("t", "a", "b", {compared(1, 200, 0), compared(2, 0, 100), compared(3, 0, 100)});
  EXPECT_TRUE(table.rows.empty());
  EXPECT_EQ(table.notes, (std::vector<std::string>{"1 problem only A has.", "2 problems only B has."}));
}

TEST(CompareTable, fits_eighty_columns) {
  const std::string text = render_text(compare_table("t", "a", "b", {compared(1, 200, 100)}), 80);
  EXPECT_NE(text.find("speed-up"), std::string::npos) << text;
  EXPECT_NE(text.find("B is"), std::string::npos) << text;
}

}  // namespace
}  // namespace tilewright::testing
