// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/gate.hpp"

#include <gtest/gtest.h>

#include <random>

#include "cache/base/error.hpp"
#include "tests/unit/report/tried_problems.hpp"
#include "tuner/analysis/intervals.hpp"
#include "tuner/measure/measure.hpp"
#include "tuner/report/gate_table.hpp"
#include "tuner/report/tried.hpp"
#include "tuner/search/recording_file.hpp"

namespace tilewright::testing {
namespace {

Trial trial_of(double median_ns, const std::string& gpu = "GPU-1") {
  Trial trial = made_up_trial("x", median_ns);
  trial.timing->rounds_ns = {median_ns, median_ns};
  trial.gpu_uuid = gpu;
  return trial;
}

GateJudgement judged(const Trial& a, const Trial& b, const GateRule& rule = {}) {
  return judge_gate({{&a, &b}}, rule).front();
}

TEST(Gate, fails_what_is_slower_by_more_than_the_rule_allows) {
  EXPECT_EQ(judged(trial_of(100), trial_of(103)).verdict, GateVerdict::failed);
  EXPECT_EQ(judged(trial_of(100), trial_of(101.9)).verdict, GateVerdict::passed);
  EXPECT_EQ(judged(trial_of(100), trial_of(50)).verdict, GateVerdict::passed);
  EXPECT_EQ(judged(trial_of(100), trial_of(103), {0.05}).verdict, GateVerdict::passed);
}

TEST(Gate, does_not_fail_what_is_not_significant) {
  EXPECT_EQ(judged(trial_of(100), trial_of(100.5), {0}).verdict, GateVerdict::passed);
}

TEST(Gate, asks_more_of_each_problem_the_more_there_are) {
  const Trial a = trial_of(100);
  const Trial b = trial_of(100.9);
  EXPECT_EQ(judged(a, b, {0}).verdict, GateVerdict::failed);
  std::vector<GatePair> many(1000, GatePair{&a, &a});
  many.push_back({&a, &b});
  EXPECT_EQ(judge_gate(many, {0}).back().verdict, GateVerdict::passed);
}

TEST(Gate, decides_nothing_without_rounds_or_on_another_gpu_of_the_model) {
  Trial bare = trial_of(200);
  bare.timing->rounds_ns.clear();
  EXPECT_EQ(judged(trial_of(100), bare).verdict, GateVerdict::undecided);
  EXPECT_EQ(judged(trial_of(100), bare).why, "B has no rounds");
  const Trial a = trial_of(100);
  const Trial other = trial_of(200, "GPU-2");
  EXPECT_EQ(judged(a, other).verdict, GateVerdict::undecided);
  EXPECT_EQ(judge_gate({{&a, &other, false}}, {}).front().verdict, GateVerdict::failed) << "two models are compared";
}

TEST(GateRule, is_read_with_any_blanks) {
  EXPECT_DOUBLE_EQ(parse_gate_rule("slower > 2 %").slower, 0.02);
  EXPECT_DOUBLE_EQ(parse_gate_rule("slower>1.5%").slower, 0.015);
  for (const char* bad :
       {"", "slower", "slower > 2", "slower > -1 %", "faster > 2 %", "slower > x %", "slower > 2 % or"}) {
    EXPECT_THROW(static_cast<void>(parse_gate_rule(bad)), UsageError) << bad;
  }
}

TEST(GateJunit, has_a_test_case_a_problem) {
  const Trial a = trial_of(100);
  const Trial b = trial_of(110);
  GateReport report{"a", "b", {}, {}, {}};
  report.lines.push_back({tried_problem(4, {}).key.problem, SideBest{a, "d"}, SideBest{b, "d"}});
  report.judgements = judge_gate({{&a, &b}}, {});
  const std::string text = gate_junit(report);
  EXPECT_NE(text.find(R"(tests="1" failures="1" skipped="0")"), std::string::npos) << text;
  EXPECT_NE(text.find("<failure message=\"B takes 110.0 ns where A takes 100.0 ns: 10.0 % slower\"/>"),
            std::string::npos)
      << text;
}

/// Recorded measurements of a GPU: the earlier and the later half of a config's rounds are the sides A and B of a gate.
class RecordedGates : public ::testing::Test {
 protected:
  RecordedGates() {
    for (const char* op : {"softmax", "rmsnorm", "gemm"}) {
      const Store store = open_recording(std::string(TILEWRIGHT_RECORDED) + "/" + op + ".db.zst");
      std::vector<std::string> devices;
      for (const DeviceFacts& device : store.devices()) devices.push_back(device.fingerprint());
      for (const TriedProblem& problem : tried_problems(store, {op, "", devices, MeasureMode::cold, {}})) {
        std::vector<Trial> whole;
        for (const TriedConfig& tried : problem.configs) {
          auto trial = store.trial(tried.trial.id);
          if (trial && timed(*trial) && trial->timing->rounds_ns.size() >= kLeastRounds) {
            whole.push_back(std::move(*trial));
          }
        }
        if (!whole.empty()) problems_.push_back(std::move(whole));
      }
    }
  }

  static Trial part(const Trial& whole, bool second) {
    const auto& rounds = whole.timing->rounds_ns;
    const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
    Trial half = whole;
    half.timing = summarise(second ? std::vector(middle, rounds.end()) : std::vector(rounds.begin(), middle));
    return half;
  }

  /// The judgements of one gate; problem `changed` is `slower` times as slow on side B.
  std::vector<GateJudgement> gate(std::size_t changed, double slower) {
    std::vector<std::pair<Trial, Trial>> sides;
    for (const std::vector<Trial>& problem : problems_) {
      const Trial& whole = problem[random_() % problem.size()];
      const bool turned = random_() % 2 == 0;
      sides.emplace_back(part(whole, turned), part(whole, !turned));
    }
    Timing& of = *sides[changed].second.timing;
    for (double& round : of.rounds_ns) round *= slower;
    of = summarise(of.rounds_ns);
    std::vector<GatePair> pairs;
    for (const auto& [a, b] : sides) pairs.push_back({&a, &b});
    return judge_gate(pairs, {});
  }

  static constexpr std::size_t kLeastRounds = 8;
  static constexpr int kGates = 1000;
  std::vector<std::vector<Trial>> problems_;
  std::mt19937 random_{28};
};

TEST_F(RecordedGates, fail_in_one_of_a_hundred_at_most_where_nothing_changed) {
  ASSERT_GT(problems_.size(), 20U);
  int failed = 0;
  for (int i = 0; i < kGates; ++i) {
    const auto judgements = gate(0, 1);
    failed += std::any_of(judgements.begin(), judgements.end(),
                          [](const GateJudgement& each) { return each.verdict == GateVerdict::failed; });
  }
  EXPECT_LE(failed, kGates / 100);
}

TEST_F(RecordedGates, find_three_per_cent_in_99_of_100) {
  ASSERT_GT(problems_.size(), 20U);
  int found = 0;
  for (int i = 0; i < kGates; ++i) {
    const std::size_t changed = random_() % problems_.size();
    found += gate(changed, 1.03)[changed].verdict == GateVerdict::failed;
  }
  EXPECT_GE(found, kGates * 99 / 100);
}

}  // namespace
}  // namespace tilewright::testing
