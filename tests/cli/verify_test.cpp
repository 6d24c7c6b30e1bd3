// SPDX-License-Identifier: Apache-2.0
#include "cache/store/store.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class VerifyVerb : public CliTest {
 protected:
  /// `verify shift` on the emulator.
  [[nodiscard]] Outcome verify(std::vector<std::string> more) const {
    more.insert(more.begin(), {"verify", "shift", "--device", "cpu"});
    return run_on_ops(more);
  }
  [[nodiscard]] nlohmann::json rows(std::vector<std::string> more, int code = 0) const {
    more.insert(more.end(), {"--format", "json"});
    const Outcome outcome = verify(std::move(more));
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, false)["rows"];
  }
};

TEST_F(VerifyVerb, checks_the_base_of_a_problem_that_was_never_tuned_and_needs_no_cache) {
  const auto found = rows({"rows=2", "cols=33"});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["shape_key"], "shift[dtype=f32,act=none]{rows=2,cols=33}");
  EXPECT_EQ(found[0]["config"], "rowwise{variant=0,width=32}");
  EXPECT_EQ(found[0]["status"], "ok");
  EXPECT_EQ(found[0]["output"], "y");
  EXPECT_EQ(found[0]["elements"], 66);
  EXPECT_EQ(found[0]["wrong_elements"], 0);
  EXPECT_LE(found[0]["norm_relative_error"].get<double>(), found[0]["norm_limit"].get<double>());
  EXPECT_EQ(found[0]["absolute_tolerance"], 1e-6);
  EXPECT_FALSE(std::filesystem::exists(cache())) << "nothing is written";
}

TEST_F(VerifyVerb, waits_as_long_as_it_is_told) {
  const std::string centuries = "9300000000";
  const auto found = rows({"rows=2", "cols=33", "--timeout", centuries, "--compile-timeout", centuries});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["status"], "ok") << found;
}

TEST_F(VerifyVerb, ends_with_one_and_the_element_where_a_config_is_wrong) {
  const std::string config = "rowwise{variant=1,width=64}";
  const auto found = rows({"rows=2", "cols=33", "--config", config}, 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["status"], "wrong_result");
  EXPECT_EQ(found[0]["wrong_elements"], 2) << "the last column of two rows";
  EXPECT_TRUE(contains(found[0]["reason"], "y[0][32]")) << found[0]["reason"];
  const Outcome text = verify({"rows=2", "cols=33", "--config", config});
  EXPECT_TRUE(contains(text.out, "y[0][32]")) << text.out;
}

TEST_F(VerifyVerb, goes_through_every_config_and_tells_what_each_failure_is) {
  std::map<std::string, std::string> statuses;
  for (const auto& row : rows({"rows=2", "cols=33", "--config", "all"}, 1)) {
    statuses[row["config"]] = row["status"];
  }
  EXPECT_EQ(statuses, (std::map<std::string, std::string>{{"rowwise{variant=0,width=32}", "ok"},
                                                          {"rowwise{variant=0,width=64}", "ok"},
                                                          {"rowwise{variant=1,width=64}", "wrong_result"},
                                                          {"rowwise{variant=2,width=64}", "compile_failed"},
                                                          {"rowwise{variant=3,width=64}", "crashed"}}));
}

TEST_F(VerifyVerb, checks_the_winners_of_a_cache_and_leaves_it_as_it_is) {
  use_swept_cache();
  const auto before = std::filesystem::last_write_time(cache());
  const auto found = rows({});
  ASSERT_FALSE(found.empty());
  for (const auto& row : found) {
    EXPECT_EQ(row["status"], "ok");
    EXPECT_EQ(row["config"].get<std::string>().rfind("rowwise{variant=0,", 0), 0U);
  }
  EXPECT_EQ(rows({"cols=33", "dtype=f32"}), found) << "values choose among the winners";
  EXPECT_EQ(std::filesystem::last_write_time(cache()), before);
}

TEST_F(VerifyVerb, goes_on_behind_a_problem_that_a_config_cannot_serve_or_that_finds_no_memory) {
  const Outcome swept = run_on_ops({"sweep", "picky", "rows=2", "cols=32,33", "--device", "cpu", "--max-configs", "1",
                                    "--budget-ms", "10", "--no-ceilings"});
  ASSERT_EQ(swept.code, 0) << swept.err;
  {
    Store store(cache());
    const WinnerRow row = store.list_winners({.op = "picky", .mode = {}, .role = WinnerRole::best}).at(0);
    const ProblemKey key{parse_problem("picky{rows=1000000,cols=1000000}", *store.interface_of("picky")),
                         row.interface_hash, "cpu"};
    Winner winner = row.winner;
    winner.trial.id = store.put_trial(key, row.implementation_hash, winner.trial);
    store.put_winners(key, MeasureMode::cold, {winner});
  }
  const std::vector<std::string> words{"verify", "picky", "--device", "cpu"};
  std::map<std::string, std::string> statuses, reasons;
  const auto verify_rows = [&](const std::vector<std::string>& more) {
    std::vector<std::string> typed = words;
    typed.insert(typed.end(), more.begin(), more.end());
    statuses.clear();
    const auto json = json_of(typed, 1);
    for (const auto& row : json["rows"]) {
      statuses[row["shape_key"]] = row["status"];
      reasons[row["shape_key"]] = row["reason"].is_string() ? row["reason"] : "";
    }
  };
  const std::string even = "picky[dtype=f32]{rows=2,cols=32}";
  const std::string odd = "picky[dtype=f32]{rows=2,cols=33}";
  const std::string large = "picky[dtype=f32]{rows=1000000,cols=1000000}";
  using Statuses = std::map<std::string, std::string>;
  verify_rows({});
  EXPECT_EQ(statuses, (Statuses{{even, "ok"}, {odd, "ok"}, {large, "exceeds_limits"}}));
  EXPECT_TRUE(contains(reasons[large], "failed")) << reasons[large];
  verify_rows({"rows=2", "--config", "even{width=32}"});
  EXPECT_EQ(statuses, (Statuses{{even, "ok"}, {odd, "exceeds_limits"}}));
  EXPECT_TRUE(contains(reasons[odd], "cols % (2) == 0")) << reasons[odd];
}

TEST_F(VerifyVerb, says_what_is_missing_or_wrong) {
  const Outcome nothing = verify({});
  EXPECT_EQ(nothing.code, 1);
  EXPECT_TRUE(contains(nothing.err, "there is no cache")) << nothing.err;
  use_swept_cache();
  const Outcome untuned = verify({"cols=34"});
  EXPECT_EQ(untuned.code, 1);
  EXPECT_TRUE(contains(untuned.err, "name every dim")) << untuned.err;
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{"col=33"}, "did you mean 'cols'?"},
      {{"rows=2", "cols=33", "--config", "rowise{variant=0,width=32}"}, "did you mean 'rowwise'?"},
      {{"rows=2", "cols=33", "--config", "rowwise{variant=1,width=32}"}, "variant == 0 or width == 64"},
      {{"rows=2", "cols=33", "--max-configs", "-1"}, "--max-configs"},
  };
  for (const auto& [words, expected] : mistakes) {
    const Outcome outcome = verify(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, expected)) << outcome.err;
  }
}

TEST_F(VerifyVerb, and_bench_and_table_judge_words_alike) {
  use_swept_cache();
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{"dtype=f64"}, "f64"},
      {{"act=rleu"}, "did you mean 'relu'?"},
      {{"rows=abc"}, "rows"},
      {{"rows=0"}, "rows"},
      {{"rows=2", "rows=4"}, "'rows' is given twice"},
      {{"dtype=f32", "dtype=bf16", "cols=33"}, "'dtype' is given twice"},
  };
  for (const char* verb : {"verify", "bench", "table"}) {
    for (const auto& [typed, expected] : mistakes) {
      std::vector<std::string> words{verb, "shift"};
      words.insert(words.end(), typed.begin(), typed.end());
      if (std::string(verb) != "table") words.insert(words.end(), {"--device", "cpu"});
      const Outcome outcome = run_on_ops(words);
      EXPECT_EQ(outcome.code, 2) << verb << outcome.err;
      EXPECT_TRUE(contains(outcome.err, expected)) << verb << outcome.err;
    }
  }
  const Outcome both = run_on_ops({"table", "shift", "dtype=f32", "--dtype", "bf16"});
  EXPECT_TRUE(contains(both.err, "'dtype' is given twice")) << both.err;
}

TEST_F(VerifyVerb, says_of_a_folder_for_temporary_files_that_it_is_not_there) {
  const RunOptions nowhere{.environment = {{"TMPDIR", "/nonexistent"}}};
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"verify", "shift", "rows=2", "cols=33", "--device", "cpu"},
        {"sweep", "shift", "--dry-run", "--device", "cpu"}}) {
    const Outcome outcome = run_on_ops(words, nowhere);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome.err, "there is no folder /nonexistent")) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "Type: unset TMPDIR")) << outcome.err;
  }
}

}  // namespace
}  // namespace tilewright::testing
