// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <map>
#include <set>

#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class BenchVerb : public CliTest {
 protected:
  /// `bench shift` on the emulator, briefly.
  [[nodiscard]] Outcome bench(std::vector<std::string> more) const {
    more.insert(more.begin(), {"bench", "shift", "--device", "cpu", "--benchmark_min_time=0.005"});
    return run_on_ops(more);
  }
  [[nodiscard]] nlohmann::json json(std::vector<std::string> more, int code = 0) const {
    more.emplace_back("--benchmark_format=json");
    const Outcome outcome = bench(std::move(more));
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, false);
  }
};

TEST_F(BenchVerb, times_winners_and_base_with_counters_and_context) {
  use_swept_cache();
  const auto all = json({});
  EXPECT_EQ(all["context"]["device"], "cpu");
  EXPECT_EQ(all["context"]["cache"], cache());
  EXPECT_TRUE(all["context"].contains("compiler"));
  std::set<std::string> roles;
  for (const auto& entry : all["benchmarks"]) {
    const std::string name = entry["name"];
    EXPECT_EQ(name.rfind("shift/f32/act:none/rows:2/cols:33/cold/", 0), 0U) << name;
    roles.insert(name.substr(name.find("cold/") + 5));
    EXPECT_GT(entry["real_time"].get<double>(), 0);
    EXPECT_EQ(entry["time_unit"], "ns");
    EXPECT_GT(entry["GB/s"].get<double>(), 0);
    EXPECT_EQ(entry["label"].get<std::string>().rfind("rowwise{variant=0,", 0), 0U);
    EXPECT_EQ(entry["cpu_time"], entry["real_time"]) << "the device's: compare.py sets it against an export's";
  }
  EXPECT_EQ(roles, (std::set<std::string>{"winner/manual_time", "base/manual_time"}));
}

TEST_F(BenchVerb, counts_bytes_and_operations_by_the_time_that_it_reports) {
  const Outcome outcome = run_on_ops(
      {"bench", "shift", "--device", "cpu", "rows=2", "cols=33", "--benchmark_format=json", "--benchmark_min_time=0"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto entry = nlohmann::json::parse(outcome.out, nullptr, false)["benchmarks"][0];
  // With one round the median is the mean.
  EXPECT_NEAR(entry["GB/s"].get<double>() * entry["real_time"].get<double>(), 2 * 2 * 33 * 4, 0.01);
}

TEST_F(BenchVerb, names_and_columns_are_those_of_an_export) {
  use_swept_cache();
  const std::string file = (folder / "export.json").string();
  const Outcome exported = run_on_ops({"export", "--google-benchmark", file, "shift"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  std::ifstream stream(file);
  std::map<std::string, std::set<std::string>> columns;
  const auto written = nlohmann::json::parse(stream);
  for (const auto& entry : written["benchmarks"]) {
    EXPECT_EQ(entry["cpu_time"], entry["real_time"]);
    for (const auto& each : entry.items()) columns[entry["name"]].insert(each.key());
  }
  EXPECT_GE(columns.size(), 2U) << "winner and base";
  const auto timed = json({});
  for (const auto& entry : timed["benchmarks"]) {
    std::set<std::string> mine;
    for (const auto& each : entry.items()) mine.insert(each.key());
    EXPECT_EQ(mine, columns[entry["name"]]) << entry["name"];
  }
}

TEST_F(BenchVerb, is_no_success_where_nothing_was_timed_or_the_report_got_lost) {
  const auto with = [&](std::vector<std::string> flags, const std::string& standard_output = "") {
    flags.insert(flags.begin(), {"bench", "shift", "--device", "cpu", "--benchmark_min_time=0", "rows=3", "cols=5"});
    return run_on_ops(flags, {.standard_output = standard_output});
  };
  const Outcome none = with({"--benchmark_filter=nothing"});
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(contains(none.err, "nothing")) << none.err;
  EXPECT_EQ(with({"--benchmark_filter=["}).code, 2);
  const Outcome full = with({}, "/dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_TRUE(contains(full.err, "writing the report to standard output failed")) << full.err;
  EXPECT_FALSE(contains(full.err, "DEBUG")) << "how the reporter was built plays no part in these times\n" << full.err;
  const Outcome file_full = with({"--benchmark_out=/dev/full"});
  EXPECT_EQ(file_full.code, 1);
  EXPECT_TRUE(contains(file_full.err, "writing the report to /dev/full failed")) << file_full.err;
}

TEST_F(BenchVerb, times_a_named_problem_against_configs_without_a_cache) {
  const auto all = json({"rows=3", "cols=5", "--against", "rowwise{variant=0,width=64}"});
  ASSERT_EQ(all["benchmarks"].size(), 2U);
  EXPECT_EQ(all["benchmarks"][0]["name"], "shift/f32/act:none/rows:3/cols:5/cold/base/manual_time");
  EXPECT_EQ(all["benchmarks"][1]["name"], "shift/f32/act:none/rows:3/cols:5/cold/against/manual_time");
  EXPECT_EQ(all["benchmarks"][1]["label"], "rowwise{variant=0,width=64}");
  EXPECT_FALSE(std::filesystem::exists(cache())) << "nothing is written";
}

TEST_F(BenchVerb, passes_google_benchmarks_flags_through) {
  const std::vector<std::string> problem{"rows=3", "cols=5"};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), problem.begin(), problem.end());
    return flags;
  };
  const Outcome listed = bench(with({"--benchmark_list_tests"}));
  EXPECT_EQ(listed.out, "shift/f32/act:none/rows:3/cols:5/cold/base/manual_time\n");
  EXPECT_EQ(bench(with({"--benchmark_list_tests=true"})).out, listed.out);

  const std::string file = (folder / "out.json").string();
  const auto repeated =
      json(with({"--benchmark_repetitions=3", "--benchmark_out=" + file, "--benchmark_time_unit=us"}));
  EXPECT_EQ(repeated["benchmarks"].size(), 3U + 4U) << "three, and mean, median, stddev and cv";
  EXPECT_EQ(repeated["benchmarks"][0]["repetitions"], 3);
  std::ifstream written(file);
  EXPECT_EQ(nlohmann::json::parse(written)["benchmarks"].size(), repeated["benchmarks"].size());

  const auto filtered = json(with({"--against", "rowwise{variant=0,width=64}", "--benchmark_filter=/against/"}));
  ASSERT_EQ(filtered["benchmarks"].size(), 1U);
  const Outcome csv = bench(with({"--benchmark_format=csv"}));
  EXPECT_TRUE(contains(csv.out, "name,iterations,real_time,cpu_time,time_unit")) << csv.out;
  const std::string console = bench(problem).out;
  const std::size_t share = console.find("half_interval_share=");
  ASSERT_NE(share, std::string::npos) << console;
  EXPECT_EQ(console.substr(share).find('%'), console.substr(share).find_first_not_of("0123456789.e-", 20)) << console;
}

TEST_F(BenchVerb, reports_what_is_wrong_in_place_of_a_time) {
  const auto all = json({"rows=3", "cols=5", "--against", "rowwise{variant=1,width=64}", "--against",
                         "rowwise{variant=2,width=64}", "--against", "rowwise{variant=3,width=64}"},
                        1);
  ASSERT_EQ(all["benchmarks"].size(), 4U);
  EXPECT_FALSE(all["benchmarks"][0].contains("error_message"));
  EXPECT_TRUE(contains(all["benchmarks"][1]["error_message"], "wrong_result: y[0][4]")) << all["benchmarks"][1];
  EXPECT_TRUE(contains(all["benchmarks"][2]["error_message"], "compile_failed")) << all["benchmarks"][2];
  EXPECT_TRUE(all["benchmarks"][3]["error_occurred"].get<bool>());
}

TEST_F(BenchVerb, says_what_is_missing_or_wrong) {
  EXPECT_TRUE(contains(bench({}).err, "there is no cache"));
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{"rows=3", "cols=5", "--benchmark_fliter=x"}, "did you mean --benchmark_filter?"},
      {{"rows=3", "cols=5", "--benchmark_format=yaml"}, "yaml"},
      {{"rows=3", "cols=5", "--benchmark_repetitions=many"}, "benchmark_repetitions"},
      {{"rows=3", "cols=5", "--against", "rowwise{variant=0}"}, "width"},
  };
  for (const auto& [words, expected] : mistakes) {
    const Outcome outcome = bench(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, expected)) << outcome.err;
  }
}

TEST_F(BenchVerb, ends_soon_after_an_interrupt_with_a_whole_report) {
  const Outcome outcome =
      run_on_ops({"bench", "shift", "--device", "cpu", "rows=3", "cols=5", "--against", "rowwise{variant=0,width=64}",
                  "--benchmark_min_time=1", "--benchmark_format=json"},
                 {.interrupt = Interrupt{"real_time"}});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_LT(outcome.after_interrupt, under_load(std::chrono::seconds(2)));
  const auto report = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << outcome.out;
  ASSERT_EQ(report["benchmarks"].size(), 2U);
  EXPECT_FALSE(report["benchmarks"][0].contains("error_message"));
  EXPECT_EQ(report["benchmarks"][1]["error_message"], "interrupted");
}

TEST_F(BenchVerb, never_writes_over_the_cache) {
  use_swept_cache();
  const std::string before = read_file(cache());
  const Outcome outcome = run_on_ops({"bench", "shift", "--device", "cpu", "--benchmark_out=" + cache()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "would be lost")) << outcome.err;
  EXPECT_EQ(read_file(cache()), before);
  const std::string other = (folder / "other.db").string();
  std::filesystem::copy_file(cache(), other);
  const Outcome another = run_on_ops({"bench", "shift", "--device", "cpu", "--benchmark_out=" + other});
  EXPECT_EQ(another.code, 2);
  EXPECT_TRUE(contains(another.err, "is an SQLite database")) << another.err;
  EXPECT_EQ(read_file(other), before);
}

}  // namespace
}  // namespace tilewright::testing
