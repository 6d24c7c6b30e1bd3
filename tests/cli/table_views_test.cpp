// SPDX-License-Identifier: Apache-2.0
// The other views of `table`, and the queries that all tables take.
#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

const std::string kRecordedViews = std::string(TILEWRIGHT_TEST_RECORDED) + "/softmax.db.zst";

Trial demo_trial(const std::string& config, double median_ns, const std::string& compiler) {
  Trial trial;
  trial.config = Config::parse(config);
  trial.versions = {13000, compiler, "1"};
  trial.measured_at = 1'772'374'000;
  if (median_ns > 0) {
    trial.timing = Timing{median_ns, median_ns * 0.99, median_ns * 1.01, median_ns * 0.98, {median_ns}, 10, 2, 100};
  } else {
    trial.status = TrialStatus::exceeds_limits;
    trial.reason = "needs 300 KiB of shared memory";
  }
  return trial;
}

/// Adds trials of other configs to a demo cache.
void add_trials(const std::string& path, std::size_t problems, double factor, const std::string& compiler) {
  Store store{std::filesystem::path(path)};
  const OpInterface interface = demo_interface();
  for (std::size_t row = 1; row <= problems; ++row) {
    const std::array<std::int64_t, 2> dims{static_cast<std::int64_t>(row), 64};
    const ProblemKey key{make_problem(parse_spec("demo", interface), interface, dims), interface.hash(),
                         demo_device().fingerprint()};
    const double best = 1000.0 * static_cast<double>(row);
    const std::string hash = "00000000000000000000000000000001";
    static_cast<void>(store.put_trial(key, hash, demo_trial("plain{vec=2}", factor * best, compiler)));
    static_cast<void>(store.put_trial(key, hash, demo_trial("plain{vec=16}", 0, compiler)));
  }
}

/// Joins lines: their breaks depend on the length of paths.
std::string unwrapped(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

class TableViews : public CliTest {
 protected:
  TableViews() {
    fill_demo_cache(cache(), 4);
    add_trials(cache(), 4, 1.25, "NVRTC 12.8");
  }

  void refuses(std::vector<std::string> words, const std::string& why) const {
    words.insert(words.begin(), {"table", "demo"});
    const Outcome outcome = run_on_ops(words);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_TRUE(contains(outcome.err, why)) << outcome.err;
  }
  void finds_nothing(std::vector<std::string> words, const std::string& note) const {
    words.insert(words.begin(), {"table", "demo"});
    const Outcome outcome = run_on_ops(words);
    EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
    EXPECT_TRUE(contains(outcome.out, note)) << outcome.out;
  }
};

TEST_F(TableViews, all_lists_every_config_of_a_problem_fastest_first_with_the_winner_marked) {
  const auto json = json_of({"table", "demo", "--all", "rows=2"});
  ASSERT_EQ(json["rows"].size(), 3U);
  EXPECT_EQ(json["title"], "Configs of demo[dtype=f32,act=none]{rows=2,cols=64}");
  EXPECT_EQ(json["rows"][0]["config"], "plain{vec=4}");
  EXPECT_EQ(json["rows"][0]["winner"], true);
  EXPECT_DOUBLE_EQ(json["rows"][1]["ratio_to_best"], 1.25);
  EXPECT_EQ(json["rows"][1]["vec"], 2);
  EXPECT_EQ(json["rows"][2]["status"], "exceeds_limits");
  EXPECT_EQ(json["rows"][2]["reason"], "needs 300 KiB of shared memory");
  EXPECT_TRUE(contains(run_on_ops({"table", "demo", "--all", "rows=2"}).out, "\n*  plain{vec=4}"));
}

TEST_F(TableViews, all_of_several_problems_has_their_dims) {
  const auto json = json_of({"table", "demo", "--all"});
  ASSERT_EQ(json["rows"].size(), 12U);
  EXPECT_EQ(json["rows"][11]["rows"], 4);
  EXPECT_EQ(json_of({"table", "demo", "--all", "rows=1,3", "dtype=f32", "--top", "5"})["rows"].size(), 5U);
}

TEST_F(TableViews, by_tells_the_effect_of_a_parameter) {
  const auto json = json_of({"table", "demo", "--by", "vec"});
  ASSERT_EQ(json["rows"].size(), 3U);
  EXPECT_EQ(json["rows"][0]["value"], 2);
  EXPECT_NEAR(json["rows"][0]["best_ratio"].get<double>(), 1.25, 1e-12);
  EXPECT_EQ(json["rows"][1]["best_in"], 4);
  EXPECT_EQ(json["rows"][2]["failed"], 4);
}

TEST_F(TableViews, by_an_unknown_parameter_names_the_nearest) {
  refuses({"--by", "vek"}, "--by vek: no config of demo has such a parameter; did you mean 'vec'?");
}

TEST_F(TableViews, where_narrows_any_table) {
  EXPECT_EQ(json_of({"table", "demo", "--where", "rows>=3 and dtype=f32"})["rows"].size(), 2U);
  EXPECT_EQ(json_of({"table", "demo", "--all", "--where", "vec=2 and ratio_to_best>1.2"})["rows"].size(), 4U);
  EXPECT_EQ(json_of({"table", "demo", "--where", "speedup_over_base >= 2"})["rows"].size(), 4U);
}

TEST_F(TableViews, where_tells_the_column_of_a_mistake) {
  refuses({"--where", "rows>=3 and colz=64"}, "there is no column 'colz' at column 13 of `rows>=3 and colz=64`");
  refuses({"--where", "rows>=3 and colz=64"}, "did you mean 'cols'?");
  refuses({"--where", "rows >= "}, "expected a value, found the end");
  refuses({"--where", "rows = 'many'"}, "'many' is a text, 'rows' a number");
}

TEST_F(TableViews, of_no_row_says_so_and_fails) {
  finds_nothing({"--where", "rows>100"}, "None of 4 rows matches --where 'rows>100'.");
  finds_nothing({"rows=999"}, "No winner matches");
  finds_nothing({"--all", "rows=999"}, "No tried config matches");
  finds_nothing({"--by", "vec", "rows=999"}, "No tried config matches");
  for (const char* view : {"--all", "--history"}) finds_nothing({view, "rows=999", "--where", "cols>8"}, "matches");
  finds_nothing({"rows=999", "--where", "cols>8 and dtype=f32 and act=none", "--sort", "rows"}, "No winner matches");
  refuses({"rows=999", "--where", "colz>8"}, "did you mean 'cols'?");
}

TEST_F(TableViews, sorts_and_chooses_columns) {
  const auto json = json_of({"table", "demo", "--sort", "-time_ns", "--columns", "rows,time_ns"});
  EXPECT_EQ(json["rows"][0]["rows"], 4);
  EXPECT_EQ(json["rows"][0].size(), 2U);
  const Outcome csv = run_on_ops({"table", "demo", "--columns", "rows,winner,GB/s", "--top", "1", "--format", "csv"});
  EXPECT_EQ(csv.out, "rows,winner,memory_gb_per_s\n1,plain{vec=4},\n") << csv.out;
}

TEST_F(TableViews, of_an_unknown_column_names_the_nearest) {
  refuses({"--sort", "tine_ns"}, "--sort: there is no column 'tine_ns'; did you mean 'time_ns'?");
  refuses({"--columns", "rows,winer"}, "did you mean 'winner'?");
  refuses({"--top", "none"}, "--top must be a whole number");
}

TEST_F(TableViews, refuses_names_and_values_that_the_op_does_not_have) {
  refuses({"rowz=1"}, "did you mean 'rows'?");
  refuses({"act=relo"}, "did you mean 'relu'?");
  refuses({"rows=0"}, "rows");
  refuses({"--all", "--by", "vec"}, "--all and --by are different tables");
}

TEST_F(TableViews, compares_two_caches_wherever_the_op_stands) {
  const std::string other = (folder / "other.db").string();
  fill_demo_cache(other, 3);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"table", "demo", "--compare", cache(), other},
        std::vector<std::string>{"table", "--compare", cache(), other, "demo", "dtype=f32"},
        std::vector<std::string>{"table", "demo", "--compare", cache(), "--compare", other}}) {
    const auto json = json_of(words);
    ASSERT_EQ(json["rows"].size(), 3U) << json.dump();
    EXPECT_DOUBLE_EQ(json["rows"][0]["speedup"], 1.0);
    EXPECT_EQ(json["rows"][0]["verdict"], "equal");
    EXPECT_EQ(json["rows"][0]["same_config"], true);
    EXPECT_TRUE(contains(json["notes"].dump(), "1 problem only A has."));
  }
}

TEST_F(TableViews, compares_versions_of_one_cache) {
  const auto json = json_of({"table", "demo", "--compare", "compiler=NVRTC 12.8", "compiler=NVRTC 13.0"});
  ASSERT_EQ(json["rows"].size(), 4U);
  EXPECT_DOUBLE_EQ(json["rows"][0]["speedup"], 1.25);
  EXPECT_EQ(json["rows"][0]["verdict"], "faster");
  EXPECT_EQ(json["rows"][0]["a_compiler"], "NVRTC 12.8");
  EXPECT_EQ(json_of({"table", "demo", "--compare", "driver=13.0", "driver=13.0"})["rows"].size(), 4U);
}

TEST_F(TableViews, compares_real_trials_of_a_gpu_on_terminals) {
  for (const char* width : {"80", "200"}) {
    const Outcome outcome = run({"table", "softmax", "--compare", kRecordedViews, kRecordedViews},
                                {.environment = {{"COLUMNS", width}, {"TILEWRIGHT_CACHE", cache()}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(contains(unwrapped(outcome.out), "over 14 problems: 1.00")) << outcome.out;
    // A side's name is a path, which is not wrapped.
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      if (contains(line, kRecordedViews)) continue;
      const auto columns = std::count_if(line.begin(), line.end(), [](char byte) { return (byte & 0xC0) != 0x80; });
      EXPECT_LE(columns, std::stol(width)) << line;
    }
  }
}

TEST_F(TableViews, refuses_sides_that_are_nothing) {
  refuses({"--compare", cache()}, "--compare takes two sides, and was given 1");
  refuses({"--compare", cache(), "Nvidia"}, "knows no device 'Nvidia'");
  refuses({"--compare", "compiler=NVRTC 12.9", "compiler=NVRTC 13.0"}, "no trial of demo is of that compiler");
  const Outcome absent = run_on_ops({"table", "demo", "--compare", cache(), "absent.db"});
  EXPECT_EQ(absent.code, 1);
  EXPECT_TRUE(contains(absent.err, "absent.db")) << absent.err;
}

TEST_F(TableViews, are_without_colour_where_there_is_no_terminal) {
  EXPECT_EQ(run_on_ops({"table", "demo", "--all"}).out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tilewright::testing
