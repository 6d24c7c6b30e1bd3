// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/configs_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cache/base/units.hpp"
#include "tests/unit/report/tried_problems.hpp"
#include "tuner/report/render.hpp"
#include "tuner/report/table_query.hpp"
#include "tuner/search/recording_file.hpp"

namespace tilewright::testing {
namespace {

ConfigLine line(const std::string& config, double median_ns) {
  ConfigLine made;
  made.problem = tried_problem(1, {}).key.problem;
  made.device = made_up_gpu();
  made.trial = made_up_trial(config, median_ns);
  made.roofline.bytes = 1'000'000;
  made.roofline.flops = 2'000'000;
  made.roofline.ceiling = Ceiling{1'000'000, 1, MeasureMode::cold, 800.0, {}, "", 0};
  made.roofline.rate = ComputeRate{60e12, "", "", 0};
  made.needs = {64, 0, 1024, 0.5};
  made.best_ns = 1000;
  return made;
}

nlohmann::json rows_of(const Table& table) { return nlohmann::json::parse(render_json(table))["rows"]; }

TEST(ConfigsTable, has_time_rate_share_and_needs_of_each_config) {
  const auto rows = rows_of(configs_table("t", {line("x{vec=8}", 1000), line("x{vec=4}", 2000)}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_DOUBLE_EQ(rows[1]["time_ns"], 2000.0);
  EXPECT_DOUBLE_EQ(rows[1]["ratio_to_best"], 2.0);
  EXPECT_DOUBLE_EQ(rows[1]["gb_per_s"], 500.0);
  EXPECT_DOUBLE_EQ(rows[1]["share_of_ceiling"], 0.4);
  EXPECT_EQ(rows[1]["bound"], "memory");
  EXPECT_EQ(rows[1]["registers"], 64);
  EXPECT_EQ(rows[1]["shared_bytes"], 1024);
  EXPECT_EQ(rows[1]["spill_bytes"], 0);
  EXPECT_DOUBLE_EQ(rows[1]["occupancy"], 0.5);
  EXPECT_EQ(rows[1]["vec"], 4);
  EXPECT_EQ(rows[1]["implementation"], "x");
}

TEST(ConfigsTable, tells_of_failures_and_of_what_was_pruned) {
  ConfigLine pruned = line("x{vec=2}", 0);
  pruned.trial.status = TrialStatus::pruned;
  pruned.trial.reason = "occupancy";
  const auto rows = rows_of(configs_table("t", {line("x{vec=1}", 0), pruned}));
  EXPECT_EQ(rows[0]["status"], "compile_failed");
  EXPECT_EQ(rows[0]["reason"], "ptxas says no");
  EXPECT_TRUE(rows[0]["time_ns"].is_null());
  EXPECT_EQ(rows[1]["status"], "pruned");
}

TEST(ConfigsTable, marks_the_winner_with_a_star_and_in_colour_alone_where_there_is_colour) {
  ConfigLine winner = line("x{vec=8}", 1000);
  winner.winner = true;
  const Table table = configs_table("t", {winner, line("x{vec=4}", 2000)});
  const std::string plain = render_text(table, 200);
  EXPECT_NE(plain.find("\n*  x{vec=8}"), std::string::npos) << plain;
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  const std::string coloured = render_text(table, 200, true);
  EXPECT_NE(coloured.find("\n\x1b[1m*  x{vec=8}"), std::string::npos) << coloured;
  EXPECT_NE(coloured.find("\x1b[0m"), std::string::npos);
}

TEST(ConfigsTable, shows_operations_where_computing_bounds_and_no_share_beyond_fp32) {
  ConfigLine product = line("x{vec=8}", 1000);
  product.roofline.flops = 54'000'000;
  auto row = rows_of(configs_table("t", {product}))[0];
  EXPECT_EQ(row["bound"], "compute");
  EXPECT_NEAR(row["share_of_ceiling"].get<double>(), 54e12 / 60e12, 1e-12);
  EXPECT_NE(render_text(configs_table("t", {product}), 0).find("TFLOP/s"), std::string::npos);
  product.roofline.flops = 400'000'000;
  const Table beyond = configs_table("t", {product});
  row = rows_of(beyond)[0];
  EXPECT_TRUE(row["share_of_ceiling"].is_null());
  EXPECT_NEAR(row["share_of_compute_ceiling"].get<double>(), 400e12 / 60e12, 1e-9);
  EXPECT_NE(beyond.notes.back().find("tensor cores"), std::string::npos);
}

TEST(ConfigsTable, has_the_share_of_the_rate_of_tensor_cores_where_that_is_known) {
  ConfigLine product = line("x{vec=8}", 1000);
  product.roofline.flops = 400'000'000;
  product.roofline.rate = ComputeRate{800e12, "", "", 0, "tensor_bf16"};
  auto row = rows_of(configs_table("t", {product}))[0];
  EXPECT_EQ(row["bound"], "memory") << "tensor cores compute 640 operations a byte";
  product.roofline.flops = 700'000'000;
  const Table table = configs_table("t", {product});
  row = rows_of(table)[0];
  EXPECT_EQ(row["bound"], "compute");
  EXPECT_EQ(row["ceiling_unit"], "tensor_bf16");
  EXPECT_DOUBLE_EQ(row["ceiling_gflop_per_s"], 800e3);
  EXPECT_DOUBLE_EQ(row["share_of_ceiling"], 700.0 / 800);
  EXPECT_TRUE(table.notes.empty());
  // Faster than the measured ceiling: the share is not clamped.
  product.roofline.flops = 900'000'000;
  EXPECT_DOUBLE_EQ(rows_of(configs_table("t", {product}))[0]["share_of_ceiling"], 900.0 / 800);
}

class RecordedConfigs : public ::testing::Test {
 protected:
  /// At most `most` problems, from the first on.
  std::vector<TriedProblem> first(std::size_t most) const {
    const std::vector<DeviceFacts> devices = store.devices();
    TriedFilter filter{
        .op = "softmax", .interface_hash = {}, .fingerprints = {}, .mode = MeasureMode::cold, .wanted = {}};
    for (const DeviceFacts& device : devices) filter.fingerprints.push_back(device.fingerprint());
    std::vector<TriedProblem> problems = tried_problems(store, filter);
    if (problems.size() > most) problems.resize(most);
    return problems;
  }

  Store store = open_recording(std::string(TILEWRIGHT_RECORDED) + "/softmax.db.zst");
};

TEST_F(RecordedConfigs, are_fastest_first_with_the_best_in_front) {
  const std::vector<ConfigLine> lines = config_lines(store, nullptr, first(1));
  ASSERT_GT(lines.size(), 50U);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (!lines[i].trial.timing) continue;
    EXPECT_LE(lines[i - 1].trial.timing->median_ns, lines[i].trial.timing->median_ns);
  }
  EXPECT_EQ(lines.front().best_ns, lines.front().trial.timing->median_ns);
}

TEST_F(RecordedConfigs, come_in_the_order_of_a_table) {
  const std::vector<TriedProblem> problems = first(100);
  ASSERT_EQ(problems.size(), 14U);
  EXPECT_TRUE(std::is_sorted(problems.begin(), problems.end(), [](const TriedProblem& a, const TriedProblem& b) {
    return before_in_table(a.key.problem, b.key.problem);
  }));
}

TEST_F(RecordedConfigs, fit_terminals) {
  Table table = configs_table("t", config_lines(store, nullptr, first(1)));
  apply({.top = 20}, table);
  for (const std::size_t width : {80U, 120U, 200U}) {
    std::istringstream lines(render_text(table, width));
    for (std::string text; std::getline(lines, text);) EXPECT_LE(display_width(text), width) << text;
  }
}

TEST_F(RecordedConfigs, answer_questions_about_parameters) {
  Table table = configs_table("t", config_lines(store, nullptr, first(1)));
  const std::size_t all = table.rows.size();
  apply({.where = "vec = 8 and status = ok and time_ns < 10000000", .columns = {"vec"}}, table);
  EXPECT_GT(table.rows.size(), 0U);
  EXPECT_LT(table.rows.size(), all);
  for (const auto& row : table.rows) EXPECT_EQ(std::get<std::int64_t>(row[0]), 8);
}

}  // namespace
}  // namespace tilewright::testing
