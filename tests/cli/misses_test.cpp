// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "cache/store/miss_file.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class MissesOption : public CliTest {
 protected:
  [[nodiscard]] std::string misses() const { return (folder / "misses").string(); }
  [[nodiscard]] RunOptions options() const {
    RunOptions options;
    options.environment["TILEWRIGHT_MISSES"] = misses();
    return options;
  }
  void record(const std::string& shape, const std::string& device, std::int64_t count = 1) const {
    ASSERT_TRUE(MissFile(misses()).append(std::vector{Miss{shape, device, count, 1'764'000'000, 1'764'000'000}}));
  }
};

TEST_F(MissesOption, of_sweep_tunes_what_was_asked_for_and_forgets_it) {
  use_swept_cache();
  record("shift[dtype=f32]{rows=2,cols=33}", "cpu", 3);
  record("shift[dtype=f32]{rows=2,cols=33}", "NVIDIA H200 (sm_90, 132 SMs, 141 GiB, 6144-bit)");
  record("nothing[dtype=f32]{n=2}", "cpu");
  const Outcome outcome = run_on_ops(
      {"sweep", "--misses", "--device", "cpu", "--budget-ms", "10", "--no-ceilings", "--format", "json"}, options());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json["rows"].size(), 1U);
  EXPECT_EQ(json["rows"][0]["problem"], "shift[dtype=f32]{rows=2,cols=33}");
  EXPECT_EQ(json["rows"][0]["asked"], 3);
  EXPECT_TRUE(contains(json["rows"][0]["config"], "rowwise{variant=0"));
  EXPECT_TRUE(contains(outcome.err, "nothing[dtype=f32]{n=2} is left out")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "of other devices are left")) << outcome.err;
  const auto left = MissFile(misses()).read();
  EXPECT_EQ(left.size(), 2U) << "what was tuned is forgotten, and nothing else";
}

TEST_F(MissesOption, of_sweep_does_nothing_where_there_are_none) {
  const Outcome outcome = run_on_ops({"sweep", "--misses", "--device", "cpu"}, options());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "no misses")) << outcome.err;
}

TEST_F(MissesOption, of_sweep_takes_no_shapes) {
  for (const std::vector<std::string>& source : {std::vector<std::string>{"--shapes", "rows=2"},
                                                 {"--config", "rowwise{variant=0,width=32}"},
                                                 {"--campaign", "some.toml"}}) {
    const Outcome outcome = run_on_ops({"sweep", "--misses", source.front(), source.back()}, options());
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome.err, source.front() + " does not go with it")) << outcome.err;
  }
  RunOptions off;
  off.environment["TILEWRIGHT_MISSES"] = "off";
  EXPECT_EQ(run_on_ops({"sweep", "--misses"}, off).code, 2);
}

TEST_F(MissesOption, are_listed_with_the_most_asked_first) {
  record("shift[dtype=f32]{rows=2,cols=33}", "cpu");
  record("shift[dtype=f32]{rows=4,cols=33}", "cpu", 9);
  const Outcome outcome = run({"list", "misses", "--format", "json"}, options());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json["rows"].size(), 2U);
  EXPECT_EQ(json["rows"][0]["asked"], 9);
  EXPECT_EQ(json["rows"][0]["last_at"], "2025-11-24T16:00:00Z");
}

TEST_F(MissesOption, in_a_damaged_file_are_told) {
  std::ofstream(misses()) << "tilewright misses 1\nnonsense\n";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"list", "misses"}, std::vector<std::string>{"sweep", "--misses", "--device", "cpu"}}) {
    const Outcome outcome = run_on_ops(words, options());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome.err, "is damaged (line 2)")) << outcome.err;
  }
}

}  // namespace
}  // namespace tilewright::testing
