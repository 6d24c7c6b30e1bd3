// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/fusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tests/unit/report/tried_problems.hpp"
#include "tests/unit/store/fixture.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/report/fusion_table.hpp"
#include "tuner/report/render.hpp"

namespace tilewright::testing {
namespace {

FusionLine line(const std::string& name, std::int64_t bytes, double median_ns) {
  FusionLine made;
  made.name = name;
  made.bytes = bytes;
  made.flops = bytes;
  made.parallel = {"rows", "cols"};
  made.problem = tried_problem(1, {}).key.problem;
  if (median_ns > 0) made.trial = made_up_trial("x{w=1}", median_ns);
  return made;
}

/// Three steps that move 7 units of data, and one launch that moves 3.
FusionAccount account() {
  FusionAccount made;
  made.problem = tried_problem(1, {}).key.problem;
  made.device = made_up_gpu();
  made.steps = {line("add", 3'000'000, 1500), line("norm", 2'000'000, 1000), line("act", 2'000'000, 1000)};
  made.steps[1].parallel = {"rows"};
  made.fused = line("fused", 3'000'000, 1750);
  made.shared_needed = 16 << 10;
  made.shared_available = 227 << 10;
  return made;
}

const FusionReason& reason(const std::vector<FusionReason>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const FusionReason& each) { return each.name == name; });
  if (found == all.end()) throw Error("no reason is called " + name);
  return *found;
}

TEST(FusionAccount, sums_the_chain_and_compares_both_sides) {
  const FusionAccount made = account();
  EXPECT_EQ(made.chain_bytes(), 7'000'000);
  EXPECT_NEAR(made.traffic_ratio(), 7.0 / 3, 1e-12);
  ASSERT_TRUE(made.measured());
  EXPECT_NEAR(made.measured()->ratio, 2.0, 1e-12);
  EXPECT_LT(made.measured()->low, 2.0);
  EXPECT_GT(made.measured()->high, 2.0);
}

TEST(FusionAccount, predicts_by_traffic_where_no_ceiling_is_known) {
  FusionAccount made = account();
  EXPECT_NEAR(made.predicted().value(), 7.0 / 3, 1e-12);
  for (FusionLine& step : made.steps) step.predicted_ns = 100;
  made.fused.predicted_ns = 150;
  EXPECT_DOUBLE_EQ(made.predicted().value(), 2.0);
}

TEST(FusionAccount, predicts_nothing_by_traffic_where_computing_bounds) {
  FusionAccount made = account();
  made.steps[0].flops = 1'000'000'000;
  EXPECT_FALSE(made.predicted());
  made.fused.trial.reset();
  EXPECT_FALSE(made.worth_it());
  EXPECT_NE(render_text(verdict_table(made), 120).find("not worth fusing: computing bounds the chain"),
            std::string::npos);
}

TEST(FusionAccount, is_not_measured_unless_every_part_is) {
  FusionAccount made = account();
  made.steps[1].trial.reset();
  EXPECT_FALSE(made.measured());
  made = account();
  made.fused.trial.reset();
  EXPECT_FALSE(made.measured());
}

TEST(FusionAccount, finds_the_axes_that_all_steps_share) {
  FusionAccount made = account();
  EXPECT_EQ(made.common_axes(), std::vector<std::string>{"rows"});
  made.steps[0].parallel = {"cols"};
  EXPECT_TRUE(made.common_axes()->empty());
  EXPECT_EQ(reason(made.reasons(), "parallel axis").holds, false);
  made.steps[2].parallel.clear();
  EXPECT_FALSE(made.common_axes());
  EXPECT_FALSE(reason(made.reasons(), "parallel axis").holds.has_value());
}

TEST(FusionAccount, asks_for_half_as_much_traffic_again) {
  FusionAccount made = account();
  EXPECT_EQ(reason(made.reasons(), "traffic").holds, true);
  made.fused.bytes = 5'000'000;
  EXPECT_EQ(reason(made.reasons(), "traffic").holds, false);
}

TEST(FusionAccount, tells_what_bounds_the_chain) {
  FusionAccount made = account();
  EXPECT_EQ(made.bound(), Bound::memory);
  made.steps[0].flops = 1'000'000'000;
  EXPECT_EQ(made.bound(), Bound::compute);
  made = account();
  for (FusionLine& step : made.steps) {
    step.predicted_ns = 100;
    step.computing_ns = 90;
  }
  EXPECT_EQ(made.bound(), Bound::compute);
  for (FusionLine& step : made.steps) step.trial->timing->floor_ns = step.trial->timing->median_ns;
  EXPECT_EQ(made.bound(), Bound::launch);
}

TEST(FusionAccount, needs_room_on_chip) {
  FusionAccount made = account();
  EXPECT_EQ(reason(made.reasons(), "shared memory").holds, true);
  made.shared_needed = 300 << 10;
  EXPECT_EQ(reason(made.reasons(), "shared memory").holds, false);
  made.shared_needed.reset();
  EXPECT_FALSE(reason(made.reasons(), "shared memory").holds.has_value());
}

TEST(FusionAccount, judges_by_measurement_where_there_is_one_and_else_by_its_reasons) {
  FusionAccount made = account();
  EXPECT_TRUE(made.worth_it());
  made.fused.trial = made_up_trial("x", 7000);
  EXPECT_FALSE(made.worth_it());
  made.fused.trial.reset();
  EXPECT_TRUE(made.worth_it());
  made.fused.bytes = 6'000'000;
  EXPECT_FALSE(made.worth_it());
}

TEST(FusionAccount, is_judged_by_what_the_ceilings_predict_where_nothing_is_measured) {
  FusionAccount made = account();
  made.steps[0].flops = 1'000'000'000;
  made.fused.bytes = 6'000'000;
  made.fused.trial.reset();
  ASSERT_FALSE(made.worth_it()) << "computing bounds the chain, and little traffic is saved";
  for (FusionLine& step : made.steps) step.predicted_ns = step.computing_ns = 100;
  made.fused.predicted_ns = 250;
  EXPECT_TRUE(made.worth_it());
  EXPECT_NE(render_text(verdict_table(made), 120).find("worth fusing: it is predicted to be faster"),
            std::string::npos);
  made.shared_needed = 300 << 10;
  EXPECT_FALSE(made.worth_it()) << "it does not fit on chip";
  made.shared_needed = 0;
  made.fused.predicted_ns = 290;
  EXPECT_FALSE(made.worth_it());
  EXPECT_NE(render_text(verdict_table(made), 120).find("not worth fusing: the ceilings promise 1.034x and not 1.050x"),
            std::string::npos);
}

TEST(FusionAccount, of_launches_is_worth_it_whatever_the_traffic) {
  FusionAccount made = account();
  for (FusionLine& step : made.steps) step.trial->timing->floor_ns = step.trial->timing->median_ns;
  made.fused.trial.reset();
  made.fused.bytes = 6'000'000;
  EXPECT_TRUE(made.worth_it());
}

TEST(FusionAccount, computes_each_step_at_the_rate_of_its_unit) {
  const store_tests::TemporaryFolder folder;
  Store store(folder / "cache.db");
  const DeviceFacts device = made_up_gpu();
  store.put_device(device);
  store.put_ceiling(device.fingerprint(), {1 << 20, 1, MeasureMode::cold, 1000, std::nullopt, "GPU-1", 5});
  Catalogue catalogue({}, TILEWRIGHT_TEST_KERNELS);
  const OpDefinition& gemm = catalogue.find("gemm");
  const Problem problem = parse_problem("gemm[dtype=bf16,bias=yes]{m=4096,n=4096,k=4096}", gemm.interface);
  const auto computing = [&](std::size_t step) {
    return fusion_account(&store, catalogue, gemm, problem, device, MeasureMode::cold).steps.at(step).computing_ns;
  };
  EXPECT_FALSE(computing(0).has_value());
  store.put_compute_rate(device.fingerprint(), {5e13, "", "GPU-1", 5});
  const double product = 2.0 * 4096 * 4096 * 4096;
  EXPECT_DOUBLE_EQ(*computing(0), product / 5e13 * 1e9);
  const double bias = *computing(1);
  store.put_compute_rate(device.fingerprint(), {8e14, "", "GPU-1", 5, "tensor_bf16"});
  EXPECT_DOUBLE_EQ(*computing(0), product / 8e14 * 1e9);
  EXPECT_DOUBLE_EQ(*computing(1), bias);
}

TEST(FusionTable, has_a_line_for_each_step_one_for_the_chain_and_one_fused) {
  const auto rows = nlohmann::json::parse(render_json(fusion_table(account())))["rows"];
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0]["kind"], "step");
  EXPECT_EQ(rows[3]["name"], "chain");
  EXPECT_EQ(rows[3]["bytes"], 7'000'000);
  EXPECT_DOUBLE_EQ(rows[3]["time_ns"], 3500.0);
  EXPECT_TRUE(rows[3]["traffic_ratio"].is_null());
  EXPECT_EQ(rows[4]["kind"], "fused");
  EXPECT_NEAR(rows[4]["measured_speedup"].get<double>(), 2.0, 1e-12);
  EXPECT_EQ(rows[4]["worth_fusing"], true);
  EXPECT_EQ(rows[4]["parallel_axes"], "rows");
  EXPECT_EQ(rows[4]["shared_needed_bytes"], 16 << 10);
}

TEST(FusionTable, has_a_verdict_with_its_reasons) {
  const std::string text = render_text(verdict_table(account()), 120);
  for (const char* part : {"+ 2.33x less", "+ memory", "+ rows, in all steps", "16 KiB a block at least of 227 KiB",
                           "2.00x (", "worth fusing: it is measured to be faster"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  FusionAccount untimed = account();
  untimed.steps[0].trial.reset();
  EXPECT_NE(render_text(verdict_table(untimed), 120).find("not yet: add to be timed (--measure)"), std::string::npos);
  untimed.steps[1].problem.reset();
  EXPECT_NE(render_text(verdict_table(untimed), 120).find("not, since no op does norm"), std::string::npos);
}

TEST(FusionTable, fits_terminals) {
  for (const std::size_t width : {80U, 200U}) {
    std::istringstream lines(render_text(fusion_table(account()), width) +
                             render_text(verdict_table(account()), width));
    for (std::string text; std::getline(lines, text);) EXPECT_LE(display_width(text), width) << text;
  }
}

}  // namespace
}  // namespace tilewright::testing
