// SPDX-License-Identifier: Apache-2.0
// A sweep's summary, and its record of the configs that it did not consider.
#include <sstream>

#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using Summary = CliTest;

/// Arguments that measure the test's cache again, so that all trials are of this program.
std::vector<std::string> again() {
  std::vector<std::string> words = kSweep;
  words.emplace_back("--again");
  return words;
}

TEST_F(Summary, of_a_sweep_is_in_its_json_with_times_in_milliseconds) {
  use_swept_cache();
  const nlohmann::json summary = json_of(again()).at("summary");
  EXPECT_GT(summary.at("wall_ms").get<double>(), 0);
  EXPECT_GT(summary.at("measure_ms").get<double>(), 0);
  EXPECT_LE(summary.at("measure_ms").get<double>(), summary.at("wall_ms").get<double>());
  EXPECT_EQ(summary.at("problems"), 1);
  EXPECT_GT(summary.at("measured").get<int>(), 0);
  EXPECT_EQ(summary.at("compiled"), 0);
  EXPECT_EQ(summary.at("lost_devices"), 0);
  EXPECT_EQ(summary.at("interrupted"), false);
}

TEST_F(Summary, of_a_sweep_is_an_event_of_its_log) {
  use_swept_cache();
  std::vector<std::string> words = kSweep;
  words.insert(words.end(), {"--log-format", "json"});
  const Outcome outcome = run_on_ops(words);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.err);
  nlohmann::json done;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json event = nlohmann::json::parse(line);
    if (event.at("event") == "sweep_done") done = event;
  }
  ASSERT_FALSE(done.is_null()) << outcome.err;
  EXPECT_GT(done.at("wall_ms").get<double>(), 0);
  EXPECT_GT(done.at("known").get<int>(), 0);
  EXPECT_EQ(done.at("cache"), cache());
}

TEST_F(Summary, counts_what_is_no_config_for_the_problem_and_so_do_show_and_table) {
  use_swept_cache();
  // Three variants are legal for one of two widths only.
  EXPECT_EQ(json_of(again()).at("summary").at("forbidden"), 3);
  const std::string shown = run_on_ops({"show", "shift", "rows=2", "cols=33"}).out;
  EXPECT_TRUE(
      contains(shown,
               "3 more points of the space are no configs for this problem here: 3 constraint `variant == 0 or width "
               "== 64`"))
      << shown;
  const nlohmann::json table = json_of({"table", "shift", "--all", "--device", "cpu"});
  EXPECT_TRUE(contains(table.at("notes").dump(), "3 more points of the space are no configs there"))
      << table.at("notes");
}

}  // namespace
}  // namespace tilewright::testing
