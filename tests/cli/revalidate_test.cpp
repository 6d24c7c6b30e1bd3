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
  /// Another source hash, and the same code.
  void touch_source() const { std::ofstream(ops() / "shift" / "shift.cu", std::ios::app) << "\n// Changed.\n"; }

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
  // What stands now is of today's source.
  const Outcome again = revalidate();
  EXPECT_TRUE(contains(again.err, "is stale: nothing to time again")) << again.err;
}

TEST_F(RevalidateOption, takes_no_shapes) {
  const Outcome outcome = revalidate({"--shapes", "rows=2 cols=2"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "takes its shapes from the stale winners")) << outcome.err;
}

}  // namespace
}  // namespace tilewright::testing
