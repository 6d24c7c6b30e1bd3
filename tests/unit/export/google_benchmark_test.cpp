// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/google_benchmark.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "tests/unit/export/export_fixture.hpp"
#include "tuner/report/winner_lines.hpp"

namespace tilewright {
namespace {

using namespace store_tests;
using Json = nlohmann::json;

class GoogleBenchmark : public export_tests::ExportTest {
 protected:
  [[nodiscard]] std::vector<BenchmarkLine> lines() const {
    std::vector<BenchmarkLine> all;
    Ceilings ceilings(store);
    for (WinnerRow& row : store.list_winners({})) {
      row.winner.trial = *store.trial(row.winner.trial.id);
      all.push_back({winner_line(ceilings, nullptr, std::move(row), Match{}), nullptr});
    }
    return all;
  }
};

TEST_F(GoogleBenchmark, names_have_problem_mode_and_role_and_match_themselves) {
  const std::string name = benchmark_name(softmax_problem(8, 100), MeasureMode::cold, "winner");
  EXPECT_EQ(name, "softmax/bf16/rows:8/cols:100/cold/winner");
  EXPECT_TRUE(std::regex_match(name, std::regex(name))) << "no character means anything in a regular expression";
  EXPECT_EQ(benchmark_role(WinnerRole::best), "winner");
  EXPECT_EQ(benchmark_role(WinnerRole::base), "base");
}

TEST_F(GoogleBenchmark, entries_have_what_its_tools_read) {
  put_winner(store, softmax_key(8, 100), onchip_config(4));
  const Json all = Json::parse(google_benchmark_text(store, lines()));
  EXPECT_EQ(all["context"]["device"], h200().fingerprint());
  EXPECT_EQ(all["context"]["compiler"], versions().compiler);
  ASSERT_EQ(all["benchmarks"].size(), 1U);
  const Json& entry = all["benchmarks"][0];
  EXPECT_EQ(entry["name"], "softmax/bf16/rows:8/cols:100/cold/winner/manual_time");
  EXPECT_EQ(entry["run_name"], entry["name"]);
  EXPECT_EQ(entry["run_type"], "iteration");
  EXPECT_EQ(entry["time_unit"], "ns");
  EXPECT_DOUBLE_EQ(entry["real_time"], 1000);
  EXPECT_DOUBLE_EQ(entry["cpu_time"], 1000) << "its tools divide by it, and set it against a run's";
  EXPECT_EQ(entry["iterations"], 2 * 20) << "rounds, and launches in each";
  EXPECT_EQ(entry["label"], onchip_config(4).text());
  EXPECT_DOUBLE_EQ(entry["sm_clock_mhz"], 1980);
}

TEST_F(GoogleBenchmark, of_no_winner_is_a_document_without_entries) {
  EXPECT_TRUE(Json::parse(google_benchmark_text(store, {}))["benchmarks"].empty());
}

}  // namespace
}  // namespace tilewright
