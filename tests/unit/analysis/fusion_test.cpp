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

std::string verdict(const FusionAccount& made) { return render_text(verdict_table(made), 120); }

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
  EXPECT_EQ(made.verdict(), FusionVerdict::not_worth_it);
  EXPECT_NE(verdict(made).find("not worth fusing: computing bounds the chain"), std::string::npos);
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

TEST(FusionAccount, is_judged_by_measurement_where_there_is_one_and_else_by_its_reasons) {
  FusionAccount made = account();
  EXPECT_EQ(made.verdict(), FusionVerdict::worth_it);
  made.fused.trial = made_up_trial("x", 7000);
  EXPECT_EQ(made.verdict(), FusionVerdict::not_worth_it);
  made.fused.trial.reset();
  EXPECT_EQ(made.verdict(), FusionVerdict::worth_it);
  made.fused.bytes = 6'000'000;
  EXPECT_EQ(made.verdict(), FusionVerdict::not_worth_it);
}

TEST(FusionAccount, is_either_where_no_difference_is_measured) {
  FusionAccount made = account();
  made.fused.trial = made_up_trial("x", 3490);
  EXPECT_EQ(made.verdict(), FusionVerdict::either);
  EXPECT_NE(verdict(made).find("either: no difference is measured"), std::string::npos) << verdict(made);
}

TEST(FusionAccount, is_judged_by_what_the_ceilings_predict_where_nothing_is_measured) {
  FusionAccount made = account();
  made.steps[0].flops = 1'000'000'000;
  made.fused.bytes = 6'000'000;
  made.fused.trial.reset();
  ASSERT_EQ(made.verdict(), FusionVerdict::not_worth_it) << "computing bounds the chain, and little traffic is saved";
  for (FusionLine& step : made.steps) step.predicted_ns = step.computing_ns = 100;
  made.fused.predicted_ns = 250;
  EXPECT_EQ(made.verdict(), FusionVerdict::worth_it);
  EXPECT_NE(verdict(made).find("worth fusing: it is predicted by ceilings to be faster"), std::string::npos);
  made.shared_needed = 300 << 10;
  EXPECT_EQ(made.verdict(), FusionVerdict::not_worth_it) << "it does not fit on chip";
  made.shared_needed = 0;
  made.fused.predicted_ns = 290;
  EXPECT_EQ(made.verdict(), FusionVerdict::not_worth_it);
  EXPECT_NE(verdict(made).find("not worth fusing: the ceilings promise 1.034x and not 1.050x"), std::string::npos);
}

TEST(FusionAccount, of_launches_is_worth_it_whatever_the_traffic) {
  FusionAccount made = account();
  for (FusionLine& step : made.steps) step.trial->timing->floor_ns = step.trial->timing->median_ns;
  made.fused.trial.reset();
  made.fused.bytes = 6'000'000;
  EXPECT_EQ(made.verdict(), FusionVerdict::worth_it);
}

/// swiglu[dtype=bf16]{rows=64,cols=1024}, whose steps are an activation and a product, with the winners that a test
/// stores. By the ceilings it is worth fusing.
class FusionEvidence : public ::testing::Test {
 protected:
  FusionEvidence() {
    store_.put_device(device_);
    for (const int reads : {1, 2}) {
      store_.put_ceiling(device_.fingerprint(), {1 << 18, reads, MeasureMode::cold, 2000, std::nullopt, "GPU-1", 5});
    }
  }

  void put(const std::string& text, double median_ns) {
    const OpInterface& interface = catalogue_.find(text.substr(0, text.find('['))).interface;
    const ProblemKey key{parse_problem(text, interface), interface.hash(), device_.fingerprint()};
    store_.put_interface(interface);
    store_.put_implementation(key.interface_hash, store_tests::onchip());
    Trial trial = store_tests::full_trial(store_tests::onchip_config(4), median_ns);
    trial.timing->floor_ns = 0;
    store_.put_winners(key, MeasureMode::cold, {store_tests::winner_of(store_.put_trial(key, "impl-1", trial))});
  }
  /// Products of other sizes, of which each second takes `scatter` more than its share.
  void put_products_around(double scatter) {
    double more = 1;
    for (const std::int64_t n : {8, 16, 32, 50, 80, 128, 256, 512}) {
      put("mul[dtype=bf16]{n=" + std::to_string(n << 10) + "}", more * 1000 * static_cast<double>(n) / 64);
      more = more > 1 ? 1 : 1 + scatter;
    }
  }

  [[nodiscard]] FusionAccount account() {
    const OpDefinition& fused = catalogue_.find("swiglu");
    const Problem problem = parse_problem(kFused, fused.interface);
    return fusion_account(&store_, catalogue_, fused, problem, device_, MeasureMode::cold);
  }

  static constexpr const char* kFused = "swiglu[dtype=bf16]{rows=64,cols=1024}";
  static constexpr const char* kStep = "activation[dtype=bf16,act=silu]{n=65536}";
  static constexpr const char* kProduct = "mul[dtype=bf16]{n=65536}";

 private:
  const store_tests::TemporaryFolder folder_;
  Store store_{folder_ / "cache.db"};
  const DeviceFacts device_ = made_up_gpu();
  Catalogue catalogue_{{}, TILEWRIGHT_TEST_KERNELS};
};

TEST_F(FusionEvidence, is_measured_where_all_winners_are_there) {
  put(kFused, 1500);
  put(kStep, 1000);
  put(kProduct, 1000);
  put_products_around(0);
  EXPECT_EQ(account().basis(), FusionBasis::measured);
  EXPECT_NEAR(account().measured()->ratio, 2000.0 / 1500, 1e-12);
  EXPECT_FALSE(account().estimated());
  EXPECT_NE(verdict(account()).find("worth fusing: it is measured to be faster"), std::string::npos);
}

TEST_F(FusionEvidence, is_estimated_where_some_winners_are_only_near) {
  put(kFused, 1500);
  put(kStep, 1000);
  put_products_around(0);
  const FusionAccount made = account();
  EXPECT_EQ(made.basis(), FusionBasis::estimated);
  EXPECT_FALSE(made.measured());
  ASSERT_TRUE(made.steps[1].estimate);
  EXPECT_NEAR(made.steps[1].estimate->ns, 1000, 100);
  EXPECT_FALSE(made.steps[0].estimate) << "its winner is there";
  EXPECT_NEAR(made.estimated()->ratio, 2000.0 / 1500, 0.1);
  EXPECT_EQ(made.verdict(), FusionVerdict::worth_it);
  EXPECT_NE(verdict(made).find("worth fusing: it is estimated from winners around to be faster"), std::string::npos)
      << verdict(made);
  EXPECT_NE(verdict(made).find("not yet: mul to be timed (--measure)"), std::string::npos);
}

TEST_F(FusionEvidence, may_be_an_estimate_that_fusing_costs_time_whatever_the_ceilings_predict) {
  put(kFused, 4000);
  put(kStep, 1000);
  put_products_around(0);
  EXPECT_GT(account().predicted_by_ceilings().value(), kLeastPredicted);
  EXPECT_EQ(account().verdict(), FusionVerdict::not_worth_it);
  EXPECT_NE(verdict(account()).find("not worth fusing: it is estimated from winners around to be slower"),
            std::string::npos);
}

TEST_F(FusionEvidence, of_an_estimate_within_its_error_is_either) {
  put(kFused, 1700);
  put(kStep, 1000);
  put_products_around(0.4);
  EXPECT_GT(account().estimated()->ratio, kLeastPredicted);
  EXPECT_EQ(account().verdict(), FusionVerdict::either);
  EXPECT_NE(verdict(account()).find("either: the estimates from winners around differ by less than their error"),
            std::string::npos)
      << verdict(account());
  const auto rows = nlohmann::json::parse(render_json(fusion_table(account())))["rows"];
  EXPECT_TRUE(rows.back()["worth_fusing"].is_null());
}

TEST_F(FusionEvidence, is_predicted_by_ceilings_where_an_estimate_tells_nothing) {
  put(kFused, 1500);
  put(kStep, 1000);
  put_products_around(9);
  EXPECT_FALSE(account().estimated());
  EXPECT_EQ(account().basis(), FusionBasis::predicted);
  EXPECT_EQ(account().verdict(), FusionVerdict::worth_it);
}

TEST_F(FusionEvidence, is_predicted_by_ceilings_where_a_step_has_no_winners_around) {
  put(kFused, 4000);
  put(kStep, 1000);
  const FusionAccount made = account();
  EXPECT_EQ(made.basis(), FusionBasis::predicted);
  EXPECT_FALSE(made.estimated());
  EXPECT_NE(verdict(made).find("worth fusing: it is predicted by ceilings to be faster"), std::string::npos)
      << verdict(made);
}

TEST_F(FusionEvidence, is_told_to_programs) {
  put(kFused, 1500);
  put(kStep, 1000);
  const auto rows = [&] { return nlohmann::json::parse(render_json(fusion_table(account())))["rows"]; };
  EXPECT_EQ(rows().back()["verdict_by"], "predicted");
  put_products_around(0);
  const auto estimated = rows();
  EXPECT_EQ(estimated.back()["verdict_by"], "estimated");
  EXPECT_EQ(estimated.back()["worth_fusing"], true);
  EXPECT_TRUE(estimated.back()["measured_speedup"].is_null());
  EXPECT_TRUE(estimated[1]["time_ns"].is_null());
  EXPECT_LT(estimated[1]["estimated_low_ns"], estimated[1]["estimated_ns"]);
  EXPECT_LT(estimated[1]["estimated_ns"], estimated[1]["estimated_high_ns"]);
  EXPECT_DOUBLE_EQ(estimated[2]["estimated_ns"].get<double>(), 1000 + estimated[1]["estimated_ns"].get<double>());
  EXPECT_DOUBLE_EQ(estimated.back()["estimated_speedup"].get<double>(),
                   estimated[2]["estimated_ns"].get<double>() / 1500);
  put(kProduct, 1000);
  EXPECT_EQ(rows().back()["verdict_by"], "measured");
  EXPECT_TRUE(rows()[2]["estimated_ns"].is_null());
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
