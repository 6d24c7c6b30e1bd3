// SPDX-License-Identifier: Apache-2.0
#include "cache/store/store.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using DryRun = CliTest;

const std::vector<std::string> kDry{"sweep", "shift", "--device", "cpu", "--no-ceilings", "--dry-run"};

std::vector<std::string> dry(const std::vector<std::string>& more) {
  std::vector<std::string> words = kDry;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(DryRun, tells_of_problems_that_the_cache_does_not_know_and_writes_no_cache) {
  const auto json = json_of(dry({"rows=2", "cols=33,65"}));
  ASSERT_EQ(json["rows"].size(), 2U);
  for (const auto& row : json["rows"]) {
    EXPECT_EQ(row["state"], "new");
    EXPECT_EQ(row["known"], 0);
    EXPECT_EQ(row["binaries_in_cache"], 0);
    EXPECT_EQ(row["to_try"], row["considered"].get<int>() - row["pruned"].get<int>());
    EXPECT_EQ(row["space"], row["forbidden"].get<int>() + row["legal"].get<int>());
    EXPECT_TRUE(row["time_s"].is_null());
  }
  EXPECT_GT(json["rows"][0]["binaries_to_compile"], 0);
  const std::string notes = json["notes"].dump();
  EXPECT_TRUE(contains(notes, "The duration is unknown")) << notes;
  EXPECT_TRUE(contains(notes, "Nothing was compiled, measured or written.")) << notes;
  EXPECT_FALSE(std::filesystem::exists(cache()));
}

TEST_F(DryRun, counts_a_binary_that_problems_share_once) {
  const auto both = json_of(dry({"rows=2,3", "cols=33"}));
  EXPECT_GT(both["rows"][0]["binaries_to_compile"], both["rows"][1]["binaries_to_compile"]);
}

TEST_F(DryRun, knows_what_was_swept_and_judges_the_rest_by_it) {
  use_swept_cache();
  const auto before = std::filesystem::last_write_time(cache());
  const auto json = json_of(dry({"rows=2", "cols=33,40"}));
  const auto& known = json["rows"][0];
  EXPECT_EQ(known["state"], "known");
  EXPECT_EQ(known["to_try"], 0);
  EXPECT_GT(known["known"], 0);
  EXPECT_EQ(known["time_s"], 0);
  const auto& fresh = json["rows"][1];
  EXPECT_EQ(fresh["state"], "new");
  EXPECT_GT(fresh["time_s"], 0);
  EXPECT_TRUE(contains(json["notes"].dump(), "judged by the cache's earlier trials"));
  EXPECT_EQ(std::filesystem::last_write_time(cache()), before);
}

TEST_F(DryRun, of_several_devices_takes_as_long_as_one_with_its_share) {
  use_swept_cache();
  const auto alone = json_of(dry({"rows=2,3,4,5", "cols=40"}));
  const auto both =
      json_of({"sweep", "shift", "--devices", "cpu,cpu", "--no-ceilings", "--dry-run", "rows=2,3,4,5", "cols=40"});
  EXPECT_EQ(both["rows"].size(), 4U);
  EXPECT_GT(alone["summary"]["time_s"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(both["summary"]["time_s"].get<double>(), alone["summary"]["time_s"].get<double>() / 2);
}

TEST_F(DryRun, has_columns_that_add_up_where_there_is_little_room) {
  use_swept_cache();
  const Outcome outcome =
      run_on_ops(dry({"rows=2", "cols=40", "--max-configs", "6"}), {.environment = {{"COLUMNS", "80"}}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "considered  pruned  known  to try")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "1 problem, ")) << outcome.out;
}

TEST_F(DryRun, does_what_the_sweep_then_does) {
  const auto said = json_of(dry({"rows=2", "cols=33", "--max-configs", "6"}));
  const Outcome swept = run_on_ops({"sweep", "shift", "--device", "cpu", "--no-ceilings", "--budget-ms", "5", "rows=2",
                                    "cols=33", "--max-configs", "6"});
  ASSERT_EQ(swept.code, 0) << swept.err;
  EXPECT_TRUE(contains(swept.err, std::to_string(said["rows"][0]["to_try"].get<int>()) + " configs measured"))
      << swept.err;
  EXPECT_EQ(json_of(dry({"rows=2", "cols=33", "--max-configs", "6"}))["rows"][0]["state"], "known");
}

TEST_F(DryRun, heeds_the_bounds_of_a_sweep) {
  EXPECT_EQ(json_of(dry({"rows=2", "cols=33", "--max-trials", "3"}))["rows"][0]["to_try"], 3);
  use_swept_cache();
  EXPECT_GT(json_of(dry({"rows=2", "cols=33", "--again"}))["rows"][0]["to_try"], 0);
}

TEST_F(DryRun, tells_in_text_what_a_person_needs) {
  use_swept_cache();
  const Outcome outcome = run_on_ops(dry({"rows=2", "cols=33,40"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* heading : {"problem", "cache", "legal", "pruned", "to try", "to compile", "time"}) {
    EXPECT_TRUE(contains(outcome.out, heading)) << heading << "\n" << outcome.out;
  }
  EXPECT_TRUE(contains(outcome.out, "2 problems,")) << outcome.out;
}

TEST_F(DryRun, tells_of_a_device_of_the_cache_that_is_not_here) {
  {
    Store store(cache());
    DeviceFacts device = demo_device();
    device.name = "Fictional GPU";
    store.put_device(device);
  }
  const auto json = json_of({"sweep", "shift", "--device", "fictional", "--dry-run", "rows=2", "cols=33"});
  ASSERT_EQ(json["rows"].size(), 1U);
  EXPECT_TRUE(contains(json["rows"][0]["device"], "Fictional GPU"));
  const Outcome unknown = run_on_ops({"sweep", "shift", "--device", "fictitious", "--dry-run"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "knows no device 'fictitious'")) << unknown.err;
}

TEST_F(DryRun, refuses_what_is_no_sweep_of_given_shapes) {
  for (const char* kind : {"--misses", "--revalidate"}) {
    const Outcome outcome = run_on_ops({"sweep", kind, "--dry-run"});
    EXPECT_EQ(outcome.code, 2) << kind;
    EXPECT_TRUE(contains(outcome.err, "--dry-run: one of them at a time")) << outcome.err;
  }
}

}  // namespace
}  // namespace tilewright::testing
