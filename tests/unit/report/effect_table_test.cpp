// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/effect_table.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/report/tried_problems.hpp"
#include "tuner/report/render.hpp"
#include "tuner/report/winners_table.hpp"

namespace tilewright::testing {
namespace {

double number(const Table& table, std::size_t row, std::size_t column) {
  return std::get<double>(table.rows.at(row).at(column));
}

std::int64_t whole(const Table& table, std::size_t row, std::size_t column) {
  return std::get<std::int64_t>(table.rows.at(row).at(column));
}

TEST(EffectTable, tells_the_best_and_the_median_of_each_value_over_problems) {
  const std::vector<TriedProblem> problems{
      tried_problem(1, {{"a{vec=1,w=1}", 400}, {"a{vec=1,w=2}", 200}, {"a{vec=8,w=1}", 100}}),
      tried_problem(2, {{"a{vec=1,w=1}", 100}, {"a{vec=8,w=1}", 800}, {"a{vec=8,w=2}", 0}})};
  const Table table = effect_table("t", problems, "vec");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(whole(table, 0, 0), 1);
  EXPECT_EQ(whole(table, 1, 0), 8);
  // Of vec=1: 2 and 1 times the best; at the median 3 and 1 times.
  EXPECT_NEAR(number(table, 0, 1), std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(number(table, 0, 2), 2.0, 1e-12);
  EXPECT_NEAR(number(table, 0, 3), std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(number(table, 1, 1), std::sqrt(8.0), 1e-12);
  // Wins, problems, configs, failures.
  EXPECT_EQ(whole(table, 0, 4), 1);
  EXPECT_EQ(whole(table, 0, 5), 2);
  EXPECT_EQ(whole(table, 1, 6), 2);
  EXPECT_EQ(whole(table, 1, 7), 1);
}

TEST(EffectTable, sorts_numbers_as_numbers) {
  const Table table = effect_table("t", {tried_problem(1, {{"a{w=16}", 3}, {"a{w=2}", 2}, {"a{w=8}", 1}})}, "w");
  EXPECT_EQ(whole(table, 0, 0), 2);
  EXPECT_EQ(whole(table, 1, 0), 8);
  EXPECT_EQ(whole(table, 2, 0), 16);
}

TEST(EffectTable, takes_the_implementation_for_a_parameter) {
  const std::vector<TriedProblem> problems{tried_problem(1, {{"a{w=1}", 100}, {"b", 150}})};
  const Table table = effect_table("t", problems, "implementation");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(std::get<std::string>(table.rows[1][0]), "b");
  EXPECT_DOUBLE_EQ(number(table, 1, 1), 1.5);
  EXPECT_EQ(parameters_of(problems), (std::vector<std::string>{"implementation", "w"}));
}

TEST(EffectTable, has_values_that_always_failed_without_times) {
  const Table table = effect_table("t", {tried_problem(1, {{"a{w=1}", 100}, {"a{w=2}", 0}})}, "w");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table.rows[1][1]));
  EXPECT_EQ(whole(table, 1, 5), 0);
  EXPECT_EQ(whole(table, 1, 7), 1);
}

TEST(EffectTable, has_no_rows_of_a_parameter_that_nothing_has) {
  EXPECT_TRUE(effect_table("t", {tried_problem(1, {{"a{w=1}", 100}})}, "stages").rows.empty());
}

TEST(EffectTable, fits_eighty_columns) {
  const Table table = effect_table("t", {tried_problem(1, {{"a{rows_per_block=1}", 100}})}, "rows_per_block");
  const std::string text = render_text(table, 80);
  EXPECT_NE(text.find("best at worst  median  wins  problems  configs  failed"), std::string::npos) << text;
}

}  // namespace
}  // namespace tilewright::testing
