// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/winners_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tuner/report/render.hpp"

namespace tilewright {
namespace {

WinnerLine line(const DeviceFacts& device) {
  WinnerLine line;
  line.row.problem.spec = {"softmax", DType::bf16, {}};
  line.row.problem.dims = {{"rows", 4096}, {"cols", 1024}};
  line.row.device = device;
  line.row.winner.trial.config = Config::parse("onchip{vec=8,static_dims=1}");
  Timing timing;
  timing.median_ns = 4000;
  timing.low_ns = 3980;
  timing.high_ns = 4020;
  timing.floor_ns = 1000;
  line.row.winner.trial.timing = timing;
  line.row.winner.base_ns = 10000;
  line.match = {Fit::exact, Freshness::fresh, DeviceFit::same_device};
  line.bytes = 16'000'000;
  line.flops = 20'000'000;
  line.ceiling = Ceiling{16'000'000, 2, MeasureMode::cold, 3900.0, 3800.0, "", 0};
  line.rate = ComputeRate{60e12, "chains{chains=4}", "", 0};
  return line;
}

DeviceFacts an_h200() {
  DeviceFacts facts;
  facts.name = "NVIDIA H200";
  facts.compute_capability = 90;
  facts.sm_count = 132;
  return facts;
}

nlohmann::json first_row(const Table& table) { return nlohmann::json::parse(render_json(table))["rows"][0]; }

TEST(WinnersTable, computes_bandwidth_share_and_speedup_from_the_median) {
  const auto row = first_row(winners_table("t", {line(an_h200())}));
  EXPECT_DOUBLE_EQ(row["gb_per_s"], 4000.0);
  EXPECT_DOUBLE_EQ(row["gflop_per_s"], 5000.0);
  EXPECT_DOUBLE_EQ(row["ceiling_ns"], 3800.0);
  EXPECT_DOUBLE_EQ(row["share_of_ceiling"], 0.95);
  EXPECT_EQ(row["ceiling_reads_per_write"], 2);
  EXPECT_DOUBLE_EQ(row["speedup_over_base"], 2.5);
  EXPECT_EQ(row["rows"], 4096);
  EXPECT_EQ(row["cols"], 1024);
  EXPECT_EQ(row["shape_key"], "softmax[dtype=bf16]{rows=4096,cols=1024}");
  EXPECT_EQ(row["match"], "exact, fresh, same device");
  EXPECT_EQ(row["timed_by"], "gpu");
}

TEST(WinnersTable, shows_people_the_interval_as_a_share_of_the_median) {
  const std::string text = render_text(winners_table("t", {line(an_h200())}), 0);
  EXPECT_NE(text.find("4.000 µs"), std::string::npos);
  EXPECT_NE(text.find("0.500 %"), std::string::npos);
  EXPECT_NE(text.find("95.0 %"), std::string::npos);
  EXPECT_NE(text.find("2.50x"), std::string::npos);
}

TEST(WinnersTable, leaves_empty_what_is_not_known) {
  WinnerLine unknown = line(an_h200());
  unknown.bytes.reset();
  unknown.flops.reset();
  unknown.ceiling.reset();
  unknown.rate.reset();
  unknown.row.winner.base_ns.reset();
  const auto row = first_row(winners_table("t", {unknown}));
  for (const char* column : {"bytes", "gb_per_s", "gflop_per_s", "share_of_ceiling", "flop_per_byte",
                             "ridge_flop_per_byte", "bound", "speedup_over_base", "runner_up"}) {
    EXPECT_TRUE(row[column].is_null()) << column;
  }
}

TEST(WinnersTable, survives_a_winner_without_a_timing) {
  WinnerLine untimed = line(an_h200());
  untimed.row.winner.trial.timing.reset();
  const auto row = first_row(winners_table("t", {untimed}));
  EXPECT_TRUE(row["time_ns"].is_null());
  EXPECT_EQ(row["launch_bound"], false);
}

TEST(WinnersTable, says_under_times_of_the_emulator_whose_they_are) {
  const Table table = winners_table("t", {line(emulator_facts())});
  EXPECT_NE(render_text(table, 80).find("emulator"), std::string::npos);
  EXPECT_NE(std::find(table.notes.begin(), table.notes.end(), emulator_note()), table.notes.end());
  EXPECT_EQ(first_row(table)["timed_by"], "emulator");
  EXPECT_TRUE(winners_table("t", {line(an_h200())}).notes.empty());
}

TEST(WinnersTable, says_how_many_times_are_the_launchs) {
  WinnerLine bound = line(an_h200());
  bound.row.winner.trial.timing->floor_ns = 2500;
  const Table table = winners_table("t", {bound, line(an_h200())});
  ASSERT_EQ(table.notes.size(), 1U);
  EXPECT_EQ(table.notes.front().substr(0, 25), "1 time is launch-bound (w");
}

TEST(WinnersTable, says_by_what_a_time_is_bound) {
  WinnerLine each = line(an_h200());
  // 60 Tflop/s over 16 MB in 3.8 µs, which is 4210 GB/s.
  EXPECT_NEAR(*ridge_of(each), 60e12 / (16e6 / 3800 * 1e9), 1e-9);
  EXPECT_DOUBLE_EQ(*intensity_of(each), 1.25);
  EXPECT_EQ(bound_of(each), Bound::memory);
  each.flops = 16'000'000 * std::int64_t{15};
  EXPECT_EQ(bound_of(each), Bound::compute);
  each.row.winner.trial.timing->floor_ns = 2500;
  EXPECT_EQ(bound_of(each), Bound::launch);
  EXPECT_EQ(first_row(winners_table("t", {each}))["bound"], "launch");
}

TEST(WinnersTable, knows_no_bound_without_rate_or_ceiling_unless_nothing_is_computed) {
  WinnerLine each = line(an_h200());
  each.rate.reset();
  EXPECT_EQ(bound_of(each), std::nullopt);
  EXPECT_EQ(ridge_of(each), std::nullopt);
  each.flops = 0;
  EXPECT_EQ(bound_of(each), Bound::memory);
  each = line(an_h200());
  each.ceiling.reset();
  EXPECT_EQ(bound_of(each), std::nullopt);
}

TEST(WinnersTable, spares_people_what_does_not_fit) {
  const Table table = winners_table("t", {line(an_h200())});
  const std::string wide = render_text(table, 0);
  for (const char* heading : {"bound", "flop/byte", "bytes", "flops"}) {
    EXPECT_NE(wide.find(heading), std::string::npos) << heading;
  }
  EXPECT_NE(wide.find("20.00 M"), std::string::npos);
  EXPECT_EQ(render_text(table, 80).find("flop/byte"), std::string::npos);
  EXPECT_EQ(first_row(table)["flops"], 20'000'000);
  EXPECT_EQ(first_row(table)["bytes"], 16'000'000);
}

TEST(WinnersTable, has_a_column_for_each_attribute) {
  WinnerLine gelu = line(an_h200());
  gelu.row.problem.spec.attributes = {{"act", "gelu"}};
  EXPECT_EQ(first_row(winners_table("t", {gelu}))["act"], "gelu");
}

TEST(WinnersTable, fits_eighty_columns_on_one_device) {
  const std::string text = render_text(winners_table("softmax", {line(an_h200()), line(an_h200())}), 80);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    EXPECT_LE(end - start, 84U) << text.substr(start, end - start);  // bytes; µ and ± have two
    start = end + 1;
  }
}

TEST(WinnersTable, of_nothing_has_no_rows) { EXPECT_TRUE(winners_table("t", {}).rows.empty()); }

}  // namespace
}  // namespace tilewright
