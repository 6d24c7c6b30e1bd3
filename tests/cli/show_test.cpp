// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "cache/store/store.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using ShowVerb = CliTest;

const std::string kConfig = "rowwise{variant=0,width=32}";

/// Whether NVRTC and the CUDA headers are installed; otherwise tests that need them are skipped.
bool has_nvrtc(const nlohmann::json& doctor) {
  int found = 0;
  for (const auto& row : doctor["rows"]) {
    if ((row["part"] == "NVRTC" || row["part"] == "CUDA headers") && row["found"] == true) ++found;
  }
  return found == 2;
}

TEST_F(ShowVerb, prints_the_generated_source_of_a_config) {
  const Outcome outcome = run_on_ops({"show", "shift", "--config", kConfig, "--shape", "rows=4,cols=7", "--source"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "static constexpr int width = 32;")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "shift.cu\"")) << outcome.out;
}

TEST_F(ShowVerb, takes_dtype_and_attributes_as_words) {
  const Outcome outcome = run_on_ops({"show", "shift", "dtype=bf16", "act=relu", "--config", kConfig, "--source"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "using dtype = __nv_bfloat16;")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "act{\"relu\"}")) << outcome.out;
}

TEST_F(ShowVerb, tells_in_one_line_how_a_config_is_profiled) {
  if (!has_nvrtc(json_of({"doctor"}))) GTEST_SKIP() << "there is no NVRTC on this machine";
  const Outcome outcome = run_on_ops({"show", "shift", "rows=4", "cols=7", "--config", kConfig});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(
      contains(outcome.out,
               "ncu --target-processes all --set full --kernel-name \"regex:^(shift_rowwise)$\" --launch-count 1 "
               "tilewright sweep \"shift[dtype=f32,act=none]{rows=4,cols=7}\" --config "
               "\"rowwise{variant=0,width=32}\" "))
      << outcome.out;
  const std::string ops = std::filesystem::path(TILEWRIGHT_TEST_OPS).lexically_normal().string();
  EXPECT_TRUE(contains(outcome.out, " --cache profiled.db --ops ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, ops)) << outcome.out;
}

TEST_F(ShowVerb, compiles_for_a_gpu_with_no_gpu) {
  if (!has_nvrtc(json_of({"doctor"}))) GTEST_SKIP() << "there is no NVRTC on this machine";
  const auto json = json_of({"show", "shift", "rows=4", "cols=7", "--config", kConfig});
  ASSERT_EQ(json["rows"].size(), 1U);
  EXPECT_EQ(json["rows"][0]["kernel"], "shift_rowwise");
  EXPECT_EQ(json["rows"][0]["grid"], "4x1x1");
  EXPECT_EQ(json["rows"][0]["block"], "32x1x1");
  EXPECT_GT(json["rows"][0]["registers"].get<int>(), 0);
  const Outcome ptx = run_on_ops({"show", "shift", "--config", kConfig, "--arch", "sm_80", "--ptx"});
  EXPECT_EQ(ptx.code, 0) << ptx.err;
  EXPECT_TRUE(contains(ptx.out, ".target sm_80")) << ptx.out.substr(0, 500);
}

TEST_F(ShowVerb, prints_the_log_of_a_config_that_does_not_compile_and_fails) {
  const Outcome outcome =
      run_on_ops({"show", "shift", "--config", "rowwise{variant=2,width=64}", "--arch", "cpu", "--log"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.out, "variant 2 does not compile")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, "does not compile for cpu")) << outcome.err;
}

TEST_F(ShowVerb, tells_the_evidence_of_a_winner_in_words) {
  fill_demo_cache(cache(), 3);
  const Outcome outcome = run_on_ops({"show", "demo", "rows=2", "cols=64"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* said : {"is served by plain{vec=4}", "exhaustive among 3 configs, 1 of which failed",
                           "runner-up plain{vec=2}: 25.0 % slower", "95 % interval 1.980 µs to 2.020 µs", "2.00x",
                           "Fictional H999", "SM clock 1980 MHz", "CUDA driver 13.0"}) {
    EXPECT_TRUE(contains(outcome.out, said)) << said << "\n" << outcome.out;
  }
}

TEST_F(ShowVerb, has_the_evidence_for_programs_too) {
  use_swept_cache();
  const auto row = json_of({"show", "shift", "rows=2", "cols=33"})["rows"][0];
  EXPECT_EQ(row["match"], "exact, fresh, same device");
  EXPECT_EQ(row["strategy"], "race");
  for (const char* column :
       {"rounds", "launches_per_round", "input_sets", "fastest_round_ns", "finalists", "compile_ns"}) {
    EXPECT_GT(row[column].get<double>(), 0) << column;
  }
  EXPECT_GE(row["largest_error"].get<double>(), 0);
  for (const char* column : {"compiler", "tilewright", "chosen_at"}) {
    EXPECT_NE(row[column].get<std::string>(), "") << column;
  }
  for (const char* column : {"pruned", "tied", "tie_broken_by", "margin_low", "margin_high", "sm_clock_mhz",
                             "temperature_c", "power_mw", "throttle_reasons", "driver"}) {
    EXPECT_TRUE(row.contains(column)) << column;
  }
  const Outcome csv = run_on_ops({"show", "shift", "rows=2", "cols=33", "--format", "csv"});
  EXPECT_TRUE(contains(csv.out, ",strategy,")) << csv.out;
}

TEST_F(ShowVerb, tells_what_was_served_first_over_time) {
  use_swept_cache();
  const std::vector<std::string> words{"show", "shift", "rows=2", "cols=33", "--history"};
  const auto before = json_of(words)["rows"];
  ASSERT_FALSE(before.empty());
  EXPECT_EQ(before[0]["role"], "best");
  EXPECT_EQ(before[0]["served"], true);
  EXPECT_GT(before[0]["time_ns"].get<double>(), 0);
  EXPECT_GT(before[0]["measured_at"].get<std::int64_t>(), 1'700'000'000) << "seconds since 1970";
  for (const char* column : {"config", "compiler", "tilewright", "device", "mode"}) {
    EXPECT_NE(before[0][column].get<std::string>(), "") << column;
  }
  {
    // Another winner replaces it.
    Store store(cache());
    const auto row = store.list_winners({.op = "shift"});
    const auto same = [](const auto& winner) {
      return winner.problem.dim("cols") == 33 && winner.problem.dim("rows") == 2;
    };
    const auto best = std::ranges::find_if(row, same);
    ASSERT_NE(best, row.end());
    const ProblemKey key{best->problem, best->interface_hash, best->device.fingerprint()};
    std::vector<Winner> winners = store.winners(key, best->mode);
    winners.front().trial = store.trial(winners.front().trial.id).value();
    winners.front().trial.measured_at += 60;
    winners.front().trial.id = store.put_trial(key, best->implementation_hash, winners.front().trial);
    store.put_winners(key, best->mode, winners);
  }
  const auto after = json_of(words)["rows"];
  ASSERT_EQ(after.size(), before.size() + 1);
  EXPECT_EQ(after[0]["served"], true);
  EXPECT_EQ(after[1]["served"], false);
  EXPECT_EQ(after[1]["measured_at"], before[0]["measured_at"]);
  const Outcome text = run_on_ops(words);
  EXPECT_TRUE(contains(text.out, "the latest first"));
  EXPECT_TRUE(contains(text.out, " UTC")) << text.out;
  const Outcome none = run_on_ops({"show", "shift", "rows=2", "cols=34", "--history"});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(contains(none.err, "itself never had a winner")) << none.err;
}

TEST_F(ShowVerb, says_when_the_evidence_is_of_another_shape) {
  fill_demo_cache(cache(), 3);
  const Outcome outcome = run_on_ops({"show", "demo{rows=9,cols=9}"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "measured on demo[dtype=f32,act=none]{rows=3,cols=64}")) << outcome.out;
}

TEST_F(ShowVerb, describes_an_op_to_its_callers) {
  const Outcome outcome = run_on_ops({"show", "shift"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* said : {"act=none|relu", "rowwise{variant=0,width=32}", "rows x cols", "0, 1, 2, 3"}) {
    EXPECT_TRUE(contains(outcome.out, said)) << said << "\n" << outcome.out;
  }
  const auto json = json_of({"show", "shift"});
  ASSERT_EQ(json["rows"].size(), 2U);
  EXPECT_EQ(json["rows"][0]["argument"], "x");
  EXPECT_EQ(json["rows"][1]["role"], "out");
  EXPECT_EQ(json["rows"][1]["type"], "dtype");
}

TEST_F(ShowVerb, explains_what_it_cannot_show) {
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{"show", "shift", "--config", "rowise{variant=0,width=32}", "--source"}, "did you mean 'rowwise'?"},
      {{"show", "shift", "--config", "rowwise{variant=0,widht=32}", "--source"}, "did you mean 'width'?"},
      {{"show", "shift", "--config", "rowwise{variant=0,width=33}", "--source"}, "width"},
      {{"show", "shift", "--config", "rowwise{variant=0}", "--source"}, "width"},
      {{"show", "shift", "--config", "rowwise{variant=0", "--source"}, "rowwise{variant=0"},
      {{"show", "shift", "--config", "rowwise{variant=1,width=32}", "--source"}, "variant == 0 or width == 64"},
      {{"show", "shift", "--config", kConfig, "--arch", "sm90"}, "'sm90' is no architecture"},
      {{"show", "shift", "--config", kConfig, "--arch", "cpu", "--ptx"}, "--arch sm_90a"},
      {{"show", "shift", "--ptx"}, "--config"},
  };
  for (const auto& [words, expected] : mistakes) {
    const Outcome outcome = run_on_ops(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, expected)) << outcome.err;
  }
}

TEST_F(ShowVerb, takes_dims_that_are_left_out_from_the_grid) {
  const Outcome outcome = run_on_ops({"show", "shift", "rows=7", "--config", kConfig, "--arch", "cpu"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "{rows=7,cols=33}")) << outcome.out;
}

TEST_F(ShowVerb, takes_dims_that_are_left_out_from_a_grid_whose_domain_excludes_one) {
  const std::string config = "pairs{num_warps=8}";
  const auto show = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "show");
    words.insert(words.end(), {"--config", config, "--arch", "cpu", "--source"});
    return run(words);
  };
  const Outcome whole = show({"rope"});
  EXPECT_EQ(whole.code, 0) << whole.err;
  const Outcome some = show({"rope", "d=96"});
  EXPECT_EQ(some.code, 0) << some.err;
  const Outcome none = show({"rope", "d=7"});
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(contains(none.err, "`d % 2 == 0` is false")) << none.err;
}

TEST_F(ShowVerb, advises_a_shape_that_does_when_it_is_typed) {
  const std::string config = "rowwise{width=32}";
  const Outcome refused = run_on_ops({"show", "picky", "rows=2", "cols=77", "--config", config, "--arch", "cpu"});
  EXPECT_EQ(refused.code, 2);
  const std::string advice = "Name a shape that it can serve, such as ";
  const std::size_t at = refused.err.find(advice);
  ASSERT_NE(at, std::string::npos) << refused.err;
  std::istringstream typed(refused.err.substr(at + advice.size()));
  std::vector<std::string> words{"show", "picky"};
  for (std::string word; typed >> word;) words.push_back(word);
  ASSERT_EQ(words.size(), 4U) << "all dims";
  words.insert(words.end(), {"--config", config, "--arch", "cpu", "--source"});
  EXPECT_EQ(run_on_ops(words).code, 0);
}

TEST_F(ShowVerb, is_of_one_problem) {
  const Outcome outcome = run_on_ops({"show", "shift", "rows=4,8", "cols=7", "--config", kConfig});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "rows takes one value here, and was given 4,8")) << outcome.err;
}

}  // namespace
}  // namespace tilewright::testing
