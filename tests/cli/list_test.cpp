// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using ListVerb = CliTest;

nlohmann::json row_of(const nlohmann::json& json, const std::string& op) {
  for (const auto& row : json["rows"]) {
    if (row["op"] == op) return row;
  }
  return {};
}

TEST_F(ListVerb, describes_each_op_without_a_cache) {
  const auto json = json_of({"list"});
  const auto shift = row_of(json, "shift");
  EXPECT_EQ(shift["dims"], "rows, cols");
  EXPECT_EQ(shift["dtypes"], "f32, bf16");
  EXPECT_EQ(shift["attributes"], "act=none|relu");
  EXPECT_EQ(shift["implementations"], "rowwise");
  EXPECT_EQ(shift["configs"], 8);
  EXPECT_EQ(shift["problems_tuned"], 0);
  EXPECT_EQ(row_of(json, "softmax")["dims"], "rows, cols");
  EXPECT_EQ(row_of(json, "copy")["dims"], "n");
  EXPECT_FALSE(std::filesystem::exists(cache()));
}

TEST_F(ListVerb, counts_the_problems_that_have_winners) {
  use_swept_cache();
  EXPECT_EQ(row_of(json_of({"list", "ops"}), "shift")["problems_tuned"], 1);
}

TEST_F(ListVerb, lists_the_devices_of_the_cache) {
  fill_demo_cache(cache(), 2);
  const auto json = json_of({"list", "devices"});
  ASSERT_EQ(json["rows"].size(), 1U);
  EXPECT_EQ(json["rows"][0]["name"], "Fictional H999");
  EXPECT_EQ(json["rows"][0]["compute_capability"], 90);
  EXPECT_EQ(json["rows"][0]["problems_tuned"], 2) << "each has a winner and a base";
}

TEST_F(ListVerb, of_devices_needs_a_cache) {
  const Outcome outcome = run_on_ops({"list", "devices"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, cache())) << outcome.err;
}

/// Environments without a usable default cache: it is damaged, or its path is unknown.
std::vector<RunOptions> without_a_usable_cache(const std::filesystem::path& folder) {
  const std::filesystem::path damaged = folder / "damaged.db";
  std::ofstream(damaged) << "this is no cache, and it is longer than the header of one would be: so many bytes of text";
  return {{.environment = {{"TILEWRIGHT_CACHE", damaged.string()}}},
          {.environment = {{"XDG_CACHE_HOME", ""}, {"HOME", ""}}}};
}

TEST_F(ListVerb, of_ops_needs_no_cache_that_can_be_used) {
  for (const RunOptions& options : without_a_usable_cache(folder)) {
    const Outcome outcome = run({"list", "--format", "json"}, options);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(row_of(json, "softmax")["problems_tuned"].is_null()) << json;
    EXPECT_TRUE(contains(json["notes"].dump(), "The tuned problems are not known")) << json["notes"];
    const Outcome fusion = run({"fusion", "swiglu", "rows=5", "cols=64"}, options);
    EXPECT_EQ(fusion.code, 0) << fusion.err;
    EXPECT_TRUE(contains(fusion.err, "By bytes alone: ")) << fusion.err;
  }
  std::ofstream(cache()) << "this is no cache\n";
  EXPECT_EQ(run_on_ops({"list"}).code, 1) << "one that was named is meant";
}

}  // namespace
}  // namespace tilewright::testing
