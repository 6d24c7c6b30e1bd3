// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/trial_lines.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/unit/export/export_fixture.hpp"

namespace tilewright {
namespace {

using namespace store_tests;
using Json = nlohmann::json;

class TrialLines : public export_tests::ExportTest {
 protected:
  [[nodiscard]] std::vector<std::string> lines(void (*write)(const TrialRecords&, const Write&)) const {
    std::string text;
    write(records(), [&](std::string_view more) { text += more; });
    EXPECT_TRUE(text.empty() || text.back() == '\n');
    std::istringstream stream(text);
    std::vector<std::string> all;
    for (std::string line; std::getline(stream, line);) all.push_back(line);
    return all;
  }
  [[nodiscard]] std::vector<Json> json_lines() const {
    std::vector<Json> all;
    for (const std::string& line : lines(write_json_lines)) all.push_back(Json::parse(line));
    return all;
  }
};

TEST_F(TrialLines, as_json_have_full_precision_and_units_in_their_names) {
  const double time = 1234.5678901234567;
  put(softmax_key(8, 100), full_trial(onchip_config(4), time));
  const auto all = json_lines();
  ASSERT_EQ(all.size(), 1U);
  const Json& line = all[0];
  EXPECT_EQ(line["shape_key"], softmax_problem(8, 100).key());
  EXPECT_EQ(line["dims"]["cols"], 100);
  EXPECT_EQ(line["parameters"]["num_warps"], 4);
  EXPECT_EQ(line["status"], "ok");
  EXPECT_EQ(line["time_ns"].get<double>(), time);
  EXPECT_EQ(line["rounds_ns"][1].get<double>(), time * 1.5);
  EXPECT_EQ(line["rounds"], 2);
  EXPECT_EQ(line["sm_clock_mhz"], 1980);
  EXPECT_EQ(line["power_mw"], 350'000);
  EXPECT_EQ(line["device"], h200().fingerprint());
  EXPECT_EQ(line["timed_by"], "gpu");
  EXPECT_EQ(line["compiler"], versions().compiler);
  EXPECT_EQ(line["driver"], versions().driver);
  EXPECT_TRUE(line["registers"].is_null()) << "its binary was never stored";
}

TEST_F(TrialLines, have_the_columns_of_tables_for_bound_and_share_of_ceiling) {
  put_roofline();
  Trial trial = full_trial(onchip_config(4), 1000);
  trial.timing->floor_ns = 100;
  put(softmax_key(8, 100), trial);
  const Json line = json_lines().at(0);
  EXPECT_EQ(line["bytes"], 6400);
  EXPECT_EQ(line["flops"], 6'400'000);
  EXPECT_EQ(line["flop_per_byte"], 1000.0);
  EXPECT_EQ(line["gflop_per_s"], 6400.0);
  EXPECT_EQ(line["ceiling_unit"], "tensor_bf16");
  EXPECT_EQ(line["bound"], "compute");
  EXPECT_EQ(line["share_of_ceiling"], 0.8);
  EXPECT_EQ(line["share_of_memory_ceiling"], 0.002);
  EXPECT_EQ(line.count("compute_tflop_per_s"), 0U) << "that is for people";
  EXPECT_THAT(lines(write_csv)[0], ::testing::HasSubstr(",share_of_ceiling,share_of_memory_ceiling,"));
}

TEST_F(TrialLines, tell_failures_with_their_reasons_and_no_times) {
  put_fates();
  const auto all = json_lines();
  ASSERT_EQ(all.size(), std::size(export_tests::kFates));
  for (std::size_t i = 1; i < all.size(); ++i) {
    const auto status = std::string(name(export_tests::kFates[i]));
    EXPECT_EQ(all[i]["status"], status);
    EXPECT_EQ(all[i]["reason"], "why it is " + status);
    EXPECT_TRUE(all[i]["time_ns"].is_null());
    EXPECT_TRUE(all[i]["rounds_ns"].is_null());
  }
}

TEST_F(TrialLines, as_json_hold_what_is_no_number_as_null) {
  Trial trial = full_trial(onchip_config(4));
  trial.status = TrialStatus::wrong_result;
  trial.timing.reset();
  trial.accuracy = Accuracy{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 1};
  put(softmax_key(8, 100), trial);
  const Json line = json_lines().at(0);
  EXPECT_TRUE(line["max_relative_error"].is_null());
  EXPECT_EQ(line["norm_relative_error"], 1.0);
}

TEST_F(TrialLines, as_csv_have_a_column_for_each_dim_and_parameter) {
  put(softmax_key(8, 100), full_trial(onchip_config(4), 1500));
  const auto all = lines(write_csv);
  ASSERT_EQ(all.size(), 2U);
  for (const char* column :
       {"shape_key", "time_ns", "dim_rows", "dim_cols", "parameter_num_warps", "reason", "gpu_uuid"}) {
    EXPECT_THAT("," + all[0] + ",", ::testing::HasSubstr(std::string(",") + column + ","));
  }
  EXPECT_THAT(all[1], ::testing::HasSubstr(",1500,"));
}

TEST_F(TrialLines, as_csv_have_one_header_however_many_there_are) {
  for (int i = 0; i < 2001; ++i) put(softmax_key(8, 100), full_trial(onchip_config(4)));
  const auto all = lines(write_csv);
  ASSERT_EQ(all.size(), 2002U);
  EXPECT_EQ(std::count(all.begin(), all.end(), all[0]), 1);
  const auto columns = std::count(all[0].begin(), all[0].end(), ',');
  // The shape key and the config have commas, in quotes.
  EXPECT_GE(std::count(all[1500].begin(), all[1500].end(), ','), columns);
}

TEST_F(TrialLines, of_nothing_are_a_header_and_no_json) {
  EXPECT_EQ(lines(write_csv).size(), 1U);
  EXPECT_TRUE(json_lines().empty());
}

}  // namespace
}  // namespace tilewright
