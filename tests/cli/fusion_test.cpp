// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cache/store/store.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class FusionVerb : public CliTest {
 protected:
  /// Runs with a missing cache, as before the first sweep.
  Outcome run_without_cache(std::vector<std::string> arguments) const {
    return run(std::move(arguments), {.environment = {{"TILEWRIGHT_CACHE", cache()}}});
  }
};

TEST_F(FusionVerb, accounts_for_bytes_without_a_cache) {
  const Outcome outcome = run_without_cache({"fusion", "add_rmsnorm_silu", "rows=4096", "cols=8192", "dtype=bf16"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"chain", "448 MiB", "192 MiB", "2.33x less", "rows, in all steps", "16 KiB a block at least",
                           "not yet: add, norm, silu, fused"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << "\n" << outcome.out;
  }
}

TEST_F(FusionVerb, has_the_account_for_programs) {
  const Outcome outcome = run_without_cache({"fusion", "swiglu[dtype=f32]{rows=64,cols=128}", "--format", "json"});
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json["rows"].size(), 4U);
  EXPECT_EQ(json["rows"][0]["problem"], "activation[dtype=f32,act=silu]{n=8192}");
  EXPECT_EQ(json["rows"][2]["bytes"], 5 * 8192 * 4);
  const auto& fused = json["rows"][3];
  EXPECT_EQ(fused["bytes"], 3 * 8192 * 4);
  EXPECT_NEAR(fused["traffic_ratio"].get<double>(), 5.0 / 3, 1e-12);
  EXPECT_TRUE(fused["measured_speedup"].is_null());
  EXPECT_EQ(fused["worth_fusing"], true);
  EXPECT_EQ(fused["verdict_by"], "predicted");
}

TEST_F(FusionVerb, refuses_what_has_no_chain) {
  const Outcome none = run_without_cache({"fusion", "softmax", "rows=2", "cols=3"});
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(contains(none.err, "no [fusion] section")) << none.err;
  const Outcome single = run_without_cache({"fusion", "bias_act", "rows=2", "cols=3", "act=none"});
  EXPECT_EQ(single.code, 2);
  EXPECT_TRUE(contains(single.err, "nothing to fuse in bias_act[")) << single.err;
}

TEST_F(FusionVerb, needs_a_whole_shape_and_a_known_op) {
  EXPECT_EQ(run_without_cache({"fusion", "swiglu", "rows=2"}).code, 2);
  const Outcome unknown = run_without_cache({"fusion", "swigul", "rows=2", "cols=2"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "did you mean 'swiglu'?")) << unknown.err;
}

TEST_F(FusionVerb, of_a_cache_that_is_named_and_not_there_fails) {
  const Outcome outcome = run_on_ops({"fusion", "swiglu", "rows=2", "cols=2"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "does not exist")) << outcome.err;
}

TEST_F(FusionVerb, predicts_by_the_copy_that_reads_and_writes_as_a_step_does) {
  const std::string device = demo_device().fingerprint();
  {
    Store store{std::filesystem::path(cache())};
    store.put_device(demo_device());
    constexpr std::int64_t kBytes = 3 * 64 * 128 * 4;
    for (const auto& [reads, ns] : {std::pair(1, 9000.0), std::pair(2, 6000.0), std::pair(3, 4000.0)}) {
      store.put_ceiling(device, {.bytes = kBytes, .reads = reads, .copy_op_ns = ns});
    }
  }
  const auto rows = json_of({"fusion", "swiglu", "rows=64", "cols=128", "dtype=f32", "--device", "H999"})["rows"];
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_DOUBLE_EQ(rows[0]["predicted_ns"], 9000.0 * 2 / 3) << "silu reads one byte for each that it writes";
  EXPECT_DOUBLE_EQ(rows[1]["predicted_ns"], 6000.0) << "mul reads two";
  EXPECT_DOUBLE_EQ(rows[3]["predicted_ns"], 6000.0) << "and so does what is fused";
}

TEST_F(FusionVerb, of_several_devices_is_one_document) {
  {
    Store store{std::filesystem::path(cache())};
    DeviceFacts other = demo_device();
    other.name = "Fictional H1000";
    store.put_device(demo_device());
    store.put_device(other);
  }
  const std::vector<std::string> command{"fusion", "swiglu", "rows=64", "cols=128", "dtype=f32"};
  const auto rows = json_of(command)["rows"];
  ASSERT_EQ(rows.size(), 8U);
  EXPECT_NE(rows[0]["device"], rows[4]["device"]);
  std::vector<std::string> as_csv = command;
  as_csv.insert(as_csv.end(), {"--format", "csv"});
  const std::string csv = run_on_ops(as_csv).out;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 9) << csv;
}

TEST_F(FusionVerb, tunes_a_users_op_and_its_steps_and_compares_them) {
  const std::vector<std::string> command{"fusion",  "shift_twice", "rows=2",
                                         "cols=33", "--ops",       TILEWRIGHT_TEST_FUSION_OPS};
  std::vector<std::string> measuring = command;
  for (const char* word :
       {"--measure", "--device", "cpu", "--budget-ms", "10", "--no-ceilings", "--max-configs", "2"}) {
    measuring.emplace_back(word);
  }
  const auto measured = json_of(measuring);
  ASSERT_EQ(measured["rows"].size(), 4U);
  for (const auto& row : measured["rows"]) EXPECT_GT(row["time_ns"].get<double>(), 0) << row.dump();
  const double steps = measured["rows"][0]["time_ns"].get<double>() + measured["rows"][1]["time_ns"].get<double>();
  const auto& fused = measured["rows"][3];
  EXPECT_NEAR(fused["measured_speedup"].get<double>(), steps / fused["time_ns"].get<double>(), 1e-9);
  EXPECT_EQ(fused["device"], "cpu");
  EXPECT_EQ(fused["verdict_by"], "measured");
  // All is measured now: the cache alone gives the same account.
  EXPECT_EQ(json_of(command)["rows"], measured["rows"]);
  const Outcome text = run_on_ops(command);
  EXPECT_TRUE(contains(text.out, "emulator")) << text.out;
}

TEST_F(FusionVerb, is_of_one_problem) {
  const Outcome outcome = run_without_cache({"fusion", "swiglu", "rows=5,6", "cols=64"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "rows takes one value here, and was given 5,6")) << outcome.err;
}

}  // namespace
}  // namespace tilewright::testing
