// SPDX-License-Identifier: Apache-2.0
#include "cache/store/store.hpp"
#include "cache/store/whole_file.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

/// A recording of a fictional op on a fictional GPU: 40 configs on each of 4 shapes, 8 rounds each.
class ReplayOption : public CliTest {
 protected:
  ReplayOption() {
    Store store(file());
    OpInterface interface;
    interface.op = "recorded";
    interface.dims = {"n"};
    interface.dtypes = {DType::f32};
    ImplementationRecipe recipe;
    recipe.name = "plain";
    DeviceFacts device;
    device.name = "Fictional GPU";
    device.compute_capability = 90;
    store.put_interface(interface);
    store.put_implementation(interface.hash(), {"hash", recipe});
    store.put_device(device);
    for (int shape = 0; shape < 4; ++shape) {
      const ProblemKey key{make_problem(parse_spec("recorded", interface), interface,
                                        std::vector<std::int64_t>{std::int64_t{64} << shape}),
                           interface.hash(), device.fingerprint()};
      for (int x = 0; x < 40; ++x) store.put_trial(key, "hash", trial(x, 20 + shape));
    }
    WholeFile::seal(store);
  }

  static Trial trial(int x, int best) {
    Trial trial;
    trial.config = Config{"plain", {{"x", x}}};
    Timing timing;
    const double time = 1000 * (1 + 0.05 * std::abs(x - best));
    for (int round = 0; round < 8; ++round) timing.rounds_ns.push_back(time * (1 + 0.001 * (round % 3 - 1)));
    timing.median_ns = time;
    timing.low_ns = timing.min_ns = 0.999 * time;
    timing.high_ns = 1.001 * time;
    timing.launches_per_round = 100;
    trial.timing = timing;
    return trial;
  }

  [[nodiscard]] std::string file() const { return (folder / "recording.db").string(); }
};

TEST_F(ReplayOption, replays_the_shapes_that_are_asked_for_alone) {
  for (const std::vector<std::string>& asked : std::vector<std::vector<std::string>>{
           {"--shapes", "n=64,512"}, {"recorded", "n=64,512"}, {"recorded", "--shapes", "n=64..512x8"}}) {
    std::vector<std::string> arguments{"sweep", "--replay", file(), "--strategy", "race", "--format", "json"};
    arguments.insert(arguments.end(), asked.begin(), asked.end());
    const Outcome outcome = run(arguments);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    ASSERT_EQ(json["rows"].size(), 2U) << outcome.out;
    EXPECT_EQ(json["rows"][0]["shape_key"], "recorded[dtype=f32]{n=64}");
    EXPECT_EQ(json["rows"][1]["shape_key"], "recorded[dtype=f32]{n=512}");
  }
}

TEST_F(ReplayOption, replays_the_device_that_is_asked_for_and_tells_which_there_are) {
  const Outcome there = run({"sweep", "--replay", file(), "--strategy", "race", "--device", "Fictional"});
  EXPECT_EQ(there.code, 0) << there.err;
  const Outcome none = run({"sweep", "--replay", file(), "--strategy", "race", "--device", "cpu"});
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(contains(none.err, "Fictional GPU")) << none.err;
}

TEST_F(ReplayOption, refuses_what_only_a_sweep_that_measures_can_mean) {
  for (const std::vector<std::string>& asked :
       std::vector<std::vector<std::string>>{{"--config", "plain{x=1}"}, {"--devices", "all"}, {"--again"}}) {
    std::vector<std::string> arguments{"sweep", "--replay", file()};
    arguments.insert(arguments.end(), asked.begin(), asked.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome.err, "measures nothing")) << outcome.err;
  }
}

TEST_F(ReplayOption, tells_of_every_strategy_what_it_costs_and_loses) {
  const Outcome outcome = run({"sweep", "--replay", file(), "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json["rows"].size(), 5U * 4U);
  for (const auto& row : json["rows"]) {
    EXPECT_EQ(row["candidates"], 40);
    if (row["strategy"] == "exhaustive") {
      EXPECT_EQ(row["measuring_share"], 1.0);
    }
    if (row["strategy"] == "race") {
      EXPECT_LE(row["loss"], 0.01);
      EXPECT_LE(row["measuring_share"], 0.35);
    }
    if (row["strategy"] == "local" || row["strategy"] == "model") {
      EXPECT_LE(row["trials"], 6);
    }
  }
  ASSERT_EQ(json["notes"].size(), 5U);
  EXPECT_TRUE(contains(json["notes"][1], "race: within 1 % of exhaustive on 4 of 4 problems")) << json["notes"][1];
}

TEST_F(ReplayOption, takes_one_strategy_and_a_bound_of_trials) {
  const Outcome outcome =
      run({"sweep", "recorded", "--replay", file(), "--strategy", "random", "--max-trials", "5", "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json["rows"].size(), 4U);
  for (const auto& row : json["rows"]) EXPECT_EQ(row["trials"], 5);
}

TEST_F(ReplayOption, refuses_what_it_cannot_replay) {
  EXPECT_EQ(run({"sweep", "--replay", file(), "--budget", "60s"}).code, 2);
  for (const std::vector<std::string>& idle :
       {std::vector<std::string>{"--campaign", "some.toml"}, {"--within", "rows=1..4"}}) {
    const Outcome outcome = run({"sweep", "--replay", file(), idle.front(), idle.back()});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome.err, idle.front() + " does not go with it")) << outcome.err;
  }
  const Outcome unknown = run({"sweep", "--replay", file(), "--strategy", "rase"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "did you mean 'race'?")) << unknown.err;
  const Outcome none = run({"sweep", "softmax", "--replay", file()});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(contains(none.err, "no trials of softmax")) << none.err;
  EXPECT_EQ(run({"sweep", "--replay", file() + ".absent"}).code, 1);
}

TEST_F(ReplayOption, reads_a_recording_that_export_made) {
  const std::string made = (folder / "made.db").string();
  ASSERT_EQ(run({"export", "--trials", "-o", made, "--cache", file()}).code, 0);
  const Outcome first = run({"sweep", "--replay", file(), "--format", "csv"});
  const Outcome second = run({"sweep", "--replay", made, "--format", "csv"});
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(run({"table", "recorded", "--cache", made}).code, 1) << "nothing can be served from it";
}

TEST_F(ReplayOption, leaves_a_budget_without_a_unit_to_nobodys_guess) {
  for (const char* text : {"60", "fast", "-5s", "0s", "1e-10s", "5 parsecs"}) {
    const Outcome outcome = run_on_ops({"sweep", "shift", "--device", "cpu", "--budget", text});
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_TRUE(contains(outcome.err, "--budget takes a time with its unit")) << outcome.err;
  }
}

}  // namespace
}  // namespace tilewright::testing
