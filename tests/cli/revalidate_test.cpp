// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

/// A swept cache, and a copy of the test's ops whose source may be changed.
class RevalidateOption : public CliTest {
 protected:
  RevalidateOption() {
    use_swept_cache();
    std::filesystem::copy(TILEWRIGHT_TEST_OPS, ops(), std::filesystem::copy_options::recursive);
  }

  [[nodiscard]] std::filesystem::path ops() const { return folder / "ops"; }
  /// Changes the source's hash, but not the kernel's code.
  void touch_source() const {
    std::ofstream(ops() / "shift" / "shift.cu", std::ios::app) << "\nstatic const int changed = 1;\n";
  }

  [[nodiscard]] Outcome revalidate(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"sweep", "--revalidate",  "shift", "--device",     "cpu",     "--budget-ms",
                                       "10",    "--no-ceilings", "--ops", ops().string(), "--cache", cache()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

TEST_F(RevalidateOption, has_nothing_to_do_where_nothing_has_changed) {
  const Outcome outcome = revalidate();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "is stale: nothing to time again")) << outcome.err;
}

TEST_F(RevalidateOption, times_all_leaders_whatever_bounds_the_search) {
  touch_source();
  const Outcome outcome = revalidate({"--max-trials", "1", "--strategy", "random", "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["rows"][0]["config"], json["rows"][0]["config_before"]) << outcome.out;
}

TEST_F(RevalidateOption, times_the_leaders_again_once_their_source_has_changed) {
  touch_source();
  const Outcome outcome = revalidate({"--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json["rows"].size(), 1U);
  const auto& row = json["rows"][0];
  EXPECT_EQ(row["why"], "its source has changed");
  const std::string verdict = row["verdict"];
  EXPECT_TRUE(verdict == "kept" || verdict == "promoted" || verdict == "re-swept") << verdict;
  EXPECT_FALSE(row["config"].is_null());
  EXPECT_DOUBLE_EQ(row["gb_per_s"].get<double>(), row["bytes"].get<double>() / row["median_ns"].get<double>());
  // The results now belong to the changed source.
  const Outcome again = revalidate();
  EXPECT_TRUE(contains(again.err, "is stale: nothing to time again")) << again.err;
}

TEST_F(RevalidateOption, makes_no_cache_where_there_is_none) {
  const std::filesystem::path nowhere = folder / "nowhere.db";
  const Outcome outcome = run({"sweep", "--revalidate", "--device", "cpu", "--cache", nowhere.string()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "no winner to time again")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(nowhere));
}

TEST_F(RevalidateOption, goes_with_no_other_kind_of_sweep) {
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{"--misses"}, {"--replay", "some.db"}}) {
    const Outcome outcome = revalidate(other);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome.err, "one of them at a time")) << outcome.err;
  }
}

TEST_F(RevalidateOption, times_the_leaders_again_under_another_compiler_and_tells_of_both) {
  // Options of the emulator's compiler are a part of its version.
  const RunOptions another{.environment = {{"TILEWRIGHT_EMULATOR_FLAGS", "-DANOTHER_COMPILER"}}};
  const Outcome outcome = run_on_ops(
      {"sweep", "--revalidate", "shift", "--device", "cpu", "--budget-ms", "10", "--no-ceilings", "--format", "json"},
      another);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto row = nlohmann::json::parse(outcome.out)["rows"][0];
  EXPECT_TRUE(contains(row["why"], " is now g++ ") && contains(row["why"], "-DANOTHER_COMPILER")) << row["why"];
  std::vector<std::string> show{"show", "shift", "--device", "cpu"};
  const std::string key = row["problem"];
  for (const std::string& dim : {std::string("rows"), std::string("cols")}) {
    const std::size_t at = key.find(dim + "=");
    show.push_back(key.substr(at, key.find_first_of(",}", at) - at));
  }
  const Outcome told = run_on_ops(show, another);
  EXPECT_EQ(contains(told.out, "were timed again"), row["verdict"] != "re-swept") << told.out << told.err;
  EXPECT_TRUE(contains(told.out, "chosen by race among")) << told.out;
}

TEST_F(RevalidateOption, takes_no_shapes) {
  for (const std::vector<std::string>& source :
       {std::vector<std::string>{"--shapes", "rows=2 cols=2"}, {"--campaign", "some.toml"}}) {
    const Outcome outcome = revalidate(source);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome.err, "takes its shapes from the stale winners")) << outcome.err;
  }
}

}  // namespace
}  // namespace tilewright::testing
