// SPDX-License-Identifier: Apache-2.0
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

TEST_F(GateVerb, decides_nothing_without_rounds) {
  const std::string file = kRecorded + "/rows.db.zst";
  const Outcome outcome = run({"gate", file, file, "softmax"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_NE(outcome.out.find("A has no rounds"), std::string::npos) << outcome.out;
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
  EXPECT_NE(rule.err.find("there is 'slower > 2 %'"), std::string::npos) << rule.err;
  EXPECT_EQ(run({"gate", file}).code, 2);
  EXPECT_EQ(run({"gate", file, (folder / "none.db").string()}).code, 1);
}

}  // namespace
}  // namespace tilewright::testing
