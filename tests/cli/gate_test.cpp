// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <fstream>

#include "cache/store/store.hpp"
#include "cache/store/whole_file.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

const std::string kRecorded = TILEWRIGHT_TEST_RECORDED;

class GateVerb : public CliTest {};

TEST_F(GateVerb, passes_a_cache_against_itself) {
  const std::string file = kRecorded + "/softmax.db.zst";
  const Outcome outcome = run({"gate", file, file, "--junit", (folder / "gate.xml").string(), "--format", "json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["rows"].size(), 14U);
  EXPECT_EQ(json["summary"]["failed"], 0);
  EXPECT_EQ(json["summary"]["passed"], 14);
  EXPECT_NE(read_file(folder / "gate.xml").find(R"(tests="14" failures="0" skipped="0")"), std::string::npos);
}

TEST_F(GateVerb, prints_the_test_cases_alone_where_they_take_the_tables_place) {
  const std::string file = kRecorded + "/softmax.db.zst";
  const Outcome outcome = run({"gate", file, file, "--junit", "-"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("<?xml")) << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with("</testsuite>\n")) << outcome.out;
}

TEST_F(GateVerb, writes_its_test_cases_over_no_cache) {
  const std::string a = (folder / "before.db.zst").string(), b = (folder / "after.db").string();
  std::filesystem::copy_file(kRecorded + "/softmax.db.zst", a);
  fill_demo_cache(b, 3);
  fill_demo_cache(cache(), 3);
  for (const std::string& file : {a, b, cache()}) {
    const std::string before = read_file(file);
    const Outcome outcome = run({"gate", a, b, "--junit", file});
    EXPECT_EQ(outcome.code, 2) << outcome.out << outcome.err;
    EXPECT_TRUE(contains(outcome.err, file) && contains(outcome.err, "would be lost")) << outcome.err;
    EXPECT_EQ(read_file(file), before);
  }
}

TEST_F(GateVerb, decides_nothing_without_rounds) {
  const std::string file = kRecorded + "/rows.db.zst";
  const Outcome outcome = run({"gate", file, file, "softmax"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_NE(outcome.out.find("A has no rounds"), std::string::npos) << outcome.out;
  const Outcome narrow = run({"gate", file, file, "softmax"}, {.environment = {{"COLUMNS", "80"}}});
  EXPECT_NE(narrow.out.find("Undecided: 52 problems: A has no rounds."), std::string::npos) << narrow.out;
}

TEST_F(GateVerb, takes_packs_and_folders_of_packs_as_sides) {
  use_swept_cache();
  const std::string packs = (folder / "packs").string();
  ASSERT_EQ(run_on_ops({"export", "--pack", packs}).code, 0);
  const auto json_of_gate = [&](const std::string& a, const std::string& b) {
    const Outcome outcome = run_on_ops({"gate", a, b, "--format", "json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  };
  const auto json = json_of_gate(packs, cache());
  EXPECT_GT(json["summary"]["passed"], 0);
  EXPECT_EQ(json["summary"]["failed"], 0);
  for (const auto& entry : std::filesystem::directory_iterator(packs)) {
    if (entry.path().filename().string().find("shift") == std::string::npos) continue;
    EXPECT_EQ(json_of_gate(entry.path().string(), packs)["rows"].size(), json["rows"].size());
  }
}

TEST_F(GateVerb, tells_what_a_rule_looks_like_and_that_it_takes_two_sides) {
  const std::string file = kRecorded + "/softmax.db.zst";
  const Outcome rule = run({"gate", file, file, "--fail-if", "slow"});
  EXPECT_EQ(rule.code, 2);
  EXPECT_NE(rule.err.find("write 'slower > 2 %'"), std::string::npos) << rule.err;
  EXPECT_EQ(run({"gate", file}).code, 2);
  EXPECT_EQ(run({"gate", file, (folder / "none.db").string()}).code, 1);
}

TEST_F(GateVerb, of_an_unknown_op_names_the_nearest) {
  const std::string file = kRecorded + "/softmax.db.zst";
  const Outcome outcome = run({"gate", file, file, "sofmax"});
  EXPECT_EQ(outcome.code, 2) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, "there is no op 'sofmax'; did you mean 'softmax'?")) << outcome.err;
  EXPECT_EQ(run({"gate", file, file, "softmax"}).code, 0);
}

/// `gate --remeasure`, on the emulator.
class GateAgain : public CliTest {
 protected:
  /// Makes a cache in which one shape is tuned and this config has won.
  std::string tuned(const std::string& name, const std::string& config) const {
    const std::string file = (folder / name).string();
    const Outcome outcome =
        run({"sweep", "lapse", "kind=one", "rows=6", "cols=70", "--config", config, "--device", "cpu", "--budget-ms",
             "20", "--no-ceilings", "--quiet", "--ops", ops, "--cache", file});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return file;
  }
  /// Copies a cache and applies `change` to its winner's trial.
  std::string changed(const std::string& file, const std::function<void(Trial&)>& change) const {
    const std::string copy = (folder / fmt::format("copy_{}.db", copies_++)).string();
    WholeFile::copy(Store(file, {.access = StoreAccess::read}), copy);
    Store store{std::filesystem::path(copy)};
    for (const WinnerRow& row : store.list_winners({.op = "lapse"})) {
      const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
      Winner winner = row.winner;
      winner.trial = *store.trial(row.winner.trial.id);
      change(winner.trial);
      winner.trial.measured_at = 0;
      winner.trial.id = store.put_trial(key, row.implementation_hash, winner.trial);
      store.put_winners(key, MeasureMode::cold, {winner});
    }
    return copy;
  }
  static void slow_down(Trial& trial) {
    Timing& of = *trial.timing;
    for (double* each : {&of.median_ns, &of.low_ns, &of.high_ns, &of.min_ns}) *each *= 2;
    for (double& round : of.rounds_ns) round *= 2;
  }
  /// Runs a gate that must exit with `code`; returns the row, and the notes as one text.
  std::pair<nlohmann::json, std::string> gate(const std::string& a, const std::string& b, int code,
                                              bool remeasure = true) const {
    std::vector<std::string> words{"gate", a, b, "--format", "json", "--fail-if", "slower > 50 %", "--ops", ops};
    if (remeasure) words.emplace_back("--remeasure");
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, code) << outcome.out << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
    return {json["rows"].at(0), json["notes"].dump()};
  }

  std::string ops = TILEWRIGHT_TEST_REGRET_OPS;

 private:
  mutable int copies_ = 0;
};

TEST_F(GateAgain, acquits_what_was_slow_at_another_moment) {
  const std::string a = tuned("a.db", "rowwise{passes=4,narrow=0}");
  const std::string b = changed(a, slow_down);
  EXPECT_EQ(gate(a, b, 1, false).first["verdict"], "failed");
  const auto [row, notes] = gate(a, b, 0);
  EXPECT_EQ(row["verdict"], "passed");
  EXPECT_EQ(row["again"], "in turns");
  EXPECT_TRUE(contains(notes, "judged by that: 1 problem.")) << notes;
}

TEST_F(GateAgain, convicts_what_is_slow) {
  const std::string a = tuned("a.db", "rowwise{passes=1,narrow=0}");
  const std::string b = tuned("b.db", "rowwise{passes=16,narrow=0}");
  const auto [row, notes] = gate(a, b, 1);
  EXPECT_EQ(row["again"], "in turns") << notes;
  EXPECT_GT(row["slower"].get<double>(), 0.5);
}

TEST_F(GateAgain, decides_where_a_side_has_no_rounds) {
  const std::string a = tuned("a.db", "rowwise{passes=4,narrow=0}");
  const std::string b = changed(a, [](Trial& trial) { trial.timing->rounds_ns.clear(); });
  EXPECT_EQ(gate(a, b, 3, false).first["why"], "B has no rounds");
  EXPECT_EQ(gate(a, b, 0).first["verdict"], "passed");
}

TEST_F(GateAgain, finds_the_binaries_of_two_versions_in_one_cache) {
  std::string compiler;
  const std::string both = changed(tuned("a.db", "rowwise{passes=4,narrow=0}"), [&](Trial& trial) {
    compiler = trial.versions.compiler;
    trial.versions.compiler = "another";
    slow_down(trial);
  });
  const Outcome outcome = run({"gate", "compiler=" + compiler, "compiler=another", "--remeasure", "--fail-if",
                               "slower > 50 %", "--format", "json", "--ops", ops, "--cache", both});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["rows"].at(0)["again"], "in turns") << outcome.out;
}

TEST_F(GateAgain, measures_nothing_where_there_is_no_suspect) {
  const std::string a = tuned("a.db", "rowwise{passes=4,narrow=0}");
  EXPECT_TRUE(gate(a, a, 0).first["again"].is_null());
}

TEST_F(GateAgain, leaves_a_suspect_without_its_binary_as_it_was) {
  const std::string a = tuned("a.db", "rowwise{passes=4,narrow=0}");
  const std::string b = changed(a, [](Trial& trial) {
    slow_down(trial);
    trial.build_key.clear();
  });
  const auto [row, notes] = gate(a, b, 1);
  EXPECT_EQ(row["again"], "B's cache has no binary of rowwise{passes=4,narrow=0}; sweep it anew");
  EXPECT_TRUE(contains(notes, "judged as before: 1 problem: B's cache has no binary")) << notes;
}

TEST_F(GateAgain, leaves_a_suspect_that_ends_its_process) {
  const std::filesystem::path own = folder / "ops" / "lapse";
  std::filesystem::create_directories(own);
  for (const char* part : {"lapse.toml", "lapse.cu"}) {
    std::filesystem::copy_file(std::filesystem::path(ops) / "lapse" / part, own / part);
  }
  const std::filesystem::path sign = folder / "crash";
  std::string source = read_file(own / "lapse.cu");
  const std::string loop = "  for (int pass = 0;";
  source.insert(source.find(loop), fmt::format("  if (access(\"{}\", 0) == 0) __builtin_trap();\n", sign.string()));
  source.insert(source.find("template"), "extern \"C\" int access(const char*, int) noexcept;\n");
  std::ofstream(own / "lapse.cu") << source;
  ops = own.parent_path().string();
  const std::string a = tuned("a.db", "rowwise{passes=4,narrow=0}");
  const std::string b = changed(a, slow_down);
  std::ofstream(sign) << "";
  const auto [row, notes] = gate(a, b, 1);
  EXPECT_TRUE(row["again"].get<std::string>().starts_with("A fails now: crashed: ")) << row["again"];
}

TEST_F(GateAgain, leaves_what_another_device_timed_as_it_was) {
  const std::string demo = (folder / "demo.db").string();
  fill_demo_cache(demo, 3);
  {
    Store store{std::filesystem::path(demo)};
    const WinnerRow row = store.list_winners({.op = "demo", .role = WinnerRole::best}).front();
    const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
    Winner winner = row.winner;
    winner.trial.timing->rounds_ns.clear();
    winner.trial.measured_at = 0;
    winner.trial.id = store.put_trial(key, row.implementation_hash, winner.trial);
    store.put_winners(key, MeasureMode::cold, {winner});
  }
  const auto [row, notes] = gate(demo, demo, 3);
  EXPECT_TRUE(contains(row["again"].get<std::string>(), "timed on Fictional H999")) << row["again"];
}

}  // namespace
}  // namespace tilewright::testing
