// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>

#include "cache/store/store.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using SweepVerb = CliTest;

std::vector<std::string> operator+(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The trials of shift's only tuned problem, by the parameter `variant`, which selects the fault.
std::map<std::int64_t, Trial> trials_by_variant(const Store& store) {
  const OpInterface interface = store.interface_of("shift").value();
  const Problem problem = parse_problem("shift[dtype=f32]{rows=2,cols=33}", interface);
  std::map<std::int64_t, Trial> trials;
  const auto rows = store.list_winners({.op = "shift", .fingerprint = "cpu", .mode = {}, .role = WinnerRole::best});
  for (Trial& trial :
       store.trials({problem, interface.hash(), "cpu"}, {rows.at(0).implementation_hash}, MeasureMode::cold)) {
    trials[trial.config.value_or("variant", -1)] = std::move(trial);
  }
  return trials;
}

TEST_F(SweepVerb, ends_with_the_table_of_winners_and_its_emulator_note) {
  use_swept_cache();
  const Outcome outcome = run_on_ops(kSweep);
  EXPECT_EQ(outcome.code, 0);
  for (const char* heading : {"rows", "cols", "winner", "time", "±", "GB/s", "vs base", "match", "device"}) {
    EXPECT_TRUE(contains(outcome.out, heading)) << heading << "\n" << outcome.out;
  }
  EXPECT_TRUE(contains(outcome.out, "rowwise{variant=0,"));
  EXPECT_TRUE(contains(outcome.out, "exact, fresh, same device"));
  EXPECT_TRUE(contains(outcome.out, "emulator"));
  EXPECT_FALSE(contains(outcome.out, "were considered")) << "of five configs none was left out: " << outcome.out;
  EXPECT_TRUE(contains(outcome.err, "0 configs measured, 5 known before, 0 binaries compiled")) << outcome.err;
}

TEST_F(SweepVerb, keeps_each_failure_with_its_status_and_lets_none_win) {
  use_swept_cache();
  const Store store(cache(), {.access = StoreAccess::read});
  const auto trials = trials_by_variant(store);
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_EQ(trials.at(0).status, TrialStatus::ok);
  EXPECT_EQ(trials.at(1).status, TrialStatus::wrong_result);
  EXPECT_TRUE(contains(trials.at(1).reason, "y[")) << trials.at(1).reason;
  EXPECT_EQ(trials.at(2).status, TrialStatus::compile_failed);
  EXPECT_TRUE(contains(trials.at(2).reason, "variant 2 does not compile")) << trials.at(2).reason;
  EXPECT_TRUE(contains(store.build(trials.at(2).build_key)->log, "static assertion failed"));
  EXPECT_EQ(trials.at(3).status, TrialStatus::crashed);
  for (const auto& row : store.list_winners({.op = "shift", .fingerprint = {}, .mode = {}, .role = {}})) {
    EXPECT_EQ(row.winner.trial.config.value_or("variant", -1), 0);
  }
}

TEST_F(SweepVerb, measures_again_when_asked_without_compiling) {
  use_swept_cache();
  const Outcome outcome = run_on_ops(kSweep + std::vector<std::string>{"--again"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(contains(outcome.err, "5 configs measured (3 failed), 0 known before, 0 binaries compiled"))
      << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "wrong_result: rowwise{variant=1,width=64}")) << outcome.err;
}

TEST_F(SweepVerb, keeps_the_winners_of_a_problem_that_the_config_asked_for_cannot_serve) {
  use_swept_cache();
  const auto winners = [&] { return Store(cache(), {.access = StoreAccess::read}).list_winners({}).size(); };
  const std::size_t before = winners();
  const Outcome outcome =
      run_on_ops({"sweep", "shift", "--device", "cpu", "--no-ceilings", "--config", "rowwise{variant=1,width=32}"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_EQ(winners(), before);
}

TEST_F(SweepVerb, is_partly_done_when_the_base_fails_and_query_says_so_where_nothing_serves) {
  const std::filesystem::path ops = folder / "ops";
  std::filesystem::copy(TILEWRIGHT_TEST_OPS, ops, std::filesystem::copy_options::recursive);
  const std::string definition = read_file(ops / "shift" / "shift.toml");
  const std::string before = "base = \"rowwise{variant=0,width=32}\"";
  const std::string base = "rowwise{variant=1,width=64}";
  std::string broken = definition;
  broken.replace(definition.find(before), before.size(), "base = \"" + base + "\"");
  std::ofstream(ops / "shift" / "shift.toml") << broken;
  const std::string why = "the base " + base + " failed on shift[dtype=f32,act=none]{rows=2,cols=33}: wrong_result: y[";
  const auto on = [&](std::vector<std::string> words) {
    return run(std::move(words) + std::vector<std::string>{"--ops", ops.string(), "--cache", cache()});
  };

  // With the base alone nothing serves.
  EXPECT_EQ(on(kSweep + std::vector<std::string>{"--config", base, "--quiet"}).code, 3);
  const Outcome asked = on({"query", "shift", "rows=5", "cols=6"});
  EXPECT_EQ(asked.code, 1);
  EXPECT_TRUE(contains(asked.out, why)) << asked.out;

  // With a winner besides.
  const Outcome outcome = on(kSweep + std::vector<std::string>{"--quiet"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(contains(outcome.out, "rowwise{variant=0,")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, why)) << outcome.err;
}

TEST_F(SweepVerb, prints_no_progress_when_told_to_be_quiet) {
  use_swept_cache();
  const Outcome outcome = run_on_ops(kSweep + std::vector<std::string>{"--quiet", "--again", "--format", "csv"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "Configs that went wrong, and are not served: 1 wrong_result, 1 crashed\n");
  EXPECT_EQ(outcome.out.rfind("shape_key,op,dtype,act,rows,cols,winner,time_ns,", 0), 0U) << outcome.out;
}

TEST_F(SweepVerb, fails_on_the_failures_that_it_is_told_to_known_ones_included) {
  use_swept_cache();
  const auto code = [&](const std::string& failures) {
    return run_on_ops(kSweep + std::vector<std::string>{"--quiet", "--fail-on", failures}).code;
  };
  EXPECT_EQ(code("wrong_result"), 1);
  EXPECT_EQ(code("timed_out,compile_failed"), 1);
  EXPECT_EQ(code("timed_out"), 0);
  EXPECT_EQ(code("all"), 1);
  EXPECT_EQ(code("wrong"), 2);
}

TEST_F(SweepVerb, names_the_emulator_as_the_one_who_timed) {
  use_swept_cache();
  const auto json = json_of(kSweep);
  ASSERT_EQ(json["rows"].size(), 1U);
  EXPECT_EQ(json["rows"][0]["timed_by"], "emulator");
  EXPECT_EQ(json["rows"][0]["device"], "cpu");
  EXPECT_EQ(json["rows"][0]["act"], "none");
  EXPECT_GT(json["rows"][0]["time_ns"].get<double>(), 0);
  EXPECT_FALSE(json["notes"].empty());
}

TEST_F(SweepVerb, tunes_types_attributes_and_shapes_as_products) {
  use_swept_cache();
  const auto json = json_of({"sweep", "shift", "rows=1,2", "cols=5", "--attr", "act=relu,none", "--device", "cpu",
                             "--max-configs", "1", "--budget-ms", "5", "--quiet"});
  std::vector<std::string> keys;
  for (const auto& row : json["rows"]) keys.push_back(row["shape_key"]);
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "shift[dtype=f32,act=relu]{rows=1,cols=5}", "shift[dtype=f32,act=relu]{rows=2,cols=5}",
                      "shift[dtype=f32,act=none]{rows=1,cols=5}", "shift[dtype=f32,act=none]{rows=2,cols=5}"}));
  // The same run measured a copy of the same bytes.
  for (const auto& row : json["rows"]) EXPECT_GT(row["share_of_ceiling"].get<double>(), 0);
  EXPECT_TRUE(contains(json["notes"].dump(), "At most 1 of each problem's configs was considered, and "))
      << json["notes"];
}

TEST_F(SweepVerb, says_of_how_many_problems_a_bound_left_configs_untried) {
  use_swept_cache();
  const std::vector<std::string> words = kSweep + std::vector<std::string>{"rows=1,2", "cols=7", "--quiet"};
  const std::string left = "A limit of time or trials left configs of 2 problems untried";
  const Outcome bounded = run_on_ops(words + std::vector<std::string>{"--max-trials", "2", "--strategy", "random"});
  EXPECT_TRUE(contains(bounded.out, left)) << bounded.out;
  EXPECT_FALSE(contains(run_on_ops(words).out, "left configs of"));
}

TEST_F(SweepVerb, stops_within_two_seconds_of_an_interrupt_and_keeps_what_it_has) {
  use_swept_cache();
  const std::vector<std::string> words =
      kSweep + std::vector<std::string>{"--again", "--budget-ms", "100000", "--max-configs", "2"};
  std::vector<std::string> once;
  for (std::size_t i = 0; i < words.size(); ++i) {
    // kSweep has a budget already, and an option is given once.
    if (words[i] == "--budget-ms" && words[i + 1] == "10") {
      ++i;
    } else {
      once.push_back(words[i]);
    }
  }
  // Hundreds of problems of a tenth of a second each: far more than can finish before the interrupt.
  once.insert(once.end(), {"rows=64..463+1", "cols=4096"});
  const Outcome outcome = run_on_ops(once, {.interrupt = Interrupt{"] 2/400 "}});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_GT(outcome.after_interrupt.count(), 0) << outcome.err;
  EXPECT_LT(outcome.after_interrupt, under_load(std::chrono::seconds(2)));
  EXPECT_TRUE(contains(outcome.out, "Interrupted: all measured trials are stored")) << outcome.out;
  EXPECT_NO_THROW(Store(cache(), {.access = StoreAccess::read}).check());
}

TEST_F(SweepVerb, says_what_auto_has_chosen) {
  use_swept_cache();
  const RunOptions without{.environment = {{"TILEWRIGHT_LIBCUDA", "/nonexistent/libcuda.so.1"}}};
  const Outcome outcome = run_on_ops({"sweep", "shift", "--budget-ms", "10", "--no-ceilings"}, without);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(contains(outcome.err, "device: cpu (the emulator)")) << outcome.err;
}

}  // namespace
}  // namespace tilewright::testing
