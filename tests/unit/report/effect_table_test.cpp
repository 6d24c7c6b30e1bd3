// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/effect_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <tuple>

#include "tests/unit/report/tried_problems.hpp"
#include "tuner/report/render.hpp"
#include "tuner/report/winners_table.hpp"

namespace tilewright::testing {
namespace {

const Cell& cell(const Table& table, std::size_t row, const std::string& name) {
  const auto is_it = [&](const Column& column) { return column.name == name; };
  const auto found = std::find_if(table.columns.begin(), table.columns.end(), is_it);
  return table.rows.at(row).at(static_cast<std::size_t>(found - table.columns.begin()));
}

double number(const Table& table, std::size_t row, const std::string& name) {
  return std::get<double>(cell(table, row, name));
}

std::int64_t whole(const Table& table, std::size_t row, const std::string& name) {
  return std::get<std::int64_t>(cell(table, row, name));
}

std::string text(const Table& table, std::size_t row, const std::string& name) {
  return std::get<std::string>(cell(table, row, name));
}

TEST(EffectTable, tells_the_best_and_the_median_of_each_value_over_problems) {
  const std::vector<TriedProblem> problems{
      tried_problem(1, {{"a{vec=1,w=1}", 400}, {"a{vec=1,w=2}", 200}, {"a{vec=8,w=1}", 100}}),
      tried_problem(2, {{"a{vec=1,w=1}", 100}, {"a{vec=8,w=1}", 800}, {"a{vec=8,w=2}", 0}})};
  const Table table = effect_table("t", problems, "vec");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(whole(table, 0, "value"), 1);
  EXPECT_EQ(whole(table, 1, "value"), 8);
  // vec=1: its best configs take 2 and 1 times the best, its medians 3 and 1 times.
  EXPECT_NEAR(number(table, 0, "best_ratio"), std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(number(table, 0, "worst_best_ratio"), 2.0, 1e-12);
  EXPECT_NEAR(number(table, 0, "median_ratio"), std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(number(table, 1, "best_ratio"), std::sqrt(8.0), 1e-12);
  // Wins, problems, configs, failures.
  EXPECT_EQ(whole(table, 0, "best_in"), 1);
  EXPECT_EQ(whole(table, 0, "problems"), 2);
  EXPECT_EQ(whole(table, 1, "configs"), 2);
  EXPECT_EQ(whole(table, 1, "failed"), 1);
}

TEST(EffectTable, sorts_numbers_as_numbers) {
  const Table table = effect_table("t", {tried_problem(1, {{"a{w=16}", 3}, {"a{w=2}", 2}, {"a{w=8}", 1}})}, "w");
  EXPECT_EQ(whole(table, 0, "value"), 2);
  EXPECT_EQ(whole(table, 1, "value"), 8);
  EXPECT_EQ(whole(table, 2, "value"), 16);
}

TEST(EffectTable, takes_the_implementation_for_a_parameter) {
  const std::vector<TriedProblem> problems{tried_problem(1, {{"a{w=1}", 100}, {"b", 150}})};
  const Table table = effect_table("t", problems, "implementation");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(text(table, 1, "value"), "b");
  EXPECT_DOUBLE_EQ(number(table, 1, "best_ratio"), 1.5);
  EXPECT_EQ(parameters_of(problems), (std::vector<std::string>{"implementation", "w"}));
}

TEST(EffectTable, keeps_parameters_of_the_same_name_in_two_implementations_apart) {
  const std::vector<TriedProblem> problems{
      tried_problem(1, {{"b{w=1}", 400}, {"a{w=1}", 100}, {"a{w=2}", 200}, {"b{w=2}", 0}})};
  const Table table = effect_table("t", problems, "w");
  ASSERT_EQ(table.rows.size(), 4U);
  for (const auto& [row, implementation, value] :
       {std::tuple(0U, "a", 1), std::tuple(1U, "a", 2), std::tuple(2U, "b", 1), std::tuple(3U, "b", 2)}) {
    EXPECT_EQ(text(table, row, "implementation"), implementation);
    EXPECT_EQ(whole(table, row, "value"), value);
  }
  EXPECT_EQ(whole(table, 0, "configs"), 1);
  EXPECT_DOUBLE_EQ(number(table, 2, "best_ratio"), 4) << "over the best of all implementations";
  EXPECT_EQ(whole(table, 3, "failed"), 1);
}

TEST(EffectTable, has_values_that_always_failed_without_times) {
  const Table table = effect_table("t", {tried_problem(1, {{"a{w=1}", 100}, {"a{w=2}", 0}})}, "w");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cell(table, 1, "best_ratio")));
  EXPECT_EQ(whole(table, 1, "problems"), 0);
  EXPECT_EQ(whole(table, 1, "failed"), 1);
}

TEST(EffectTable, has_no_rows_of_a_parameter_that_nothing_has) {
  EXPECT_TRUE(effect_table("t", {tried_problem(1, {{"a{w=1}", 100}})}, "stages").rows.empty());
}

TEST(EffectTable, fits_eighty_columns) {
  const Table table = effect_table("t", {tried_problem(1, {{"a{rows_per_block=1}", 100}})}, "rows_per_block");
  const std::string shown = render_text(table, 80);
  EXPECT_NE(shown.find("best at worst  median  wins  problems  configs  failed"), std::string::npos) << shown;
  // With several implementations a column is dropped.
  const Table several = effect_table(
      "t", {tried_problem(1, {{"a{rows_per_block=1}", 100}, {"b{rows_per_block=1}", 90}})}, "rows_per_block");
  std::istringstream lines(render_text(several, 80));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace tilewright::testing
