// SPDX-License-Identifier: Apache-2.0
// `sweep --tuned`, on the emulator: configs that a definition gained, at the problems with a winner.
#include <fstream>

#include "cache/store/store.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

/// A copy of an op with one implementation, which gain() makes two.
class TunedSweep : public CliTest {
 protected:
  TunedSweep() {
    std::filesystem::copy(TILEWRIGHT_TEST_REGRET_OPS, folder / "ops", std::filesystem::copy_options::recursive);
  }

  [[nodiscard]] std::filesystem::path definition() const { return folder / "ops" / "lapse" / "lapse.toml"; }
  void gain() const {
    std::ofstream(definition(), std::ios::app) << R"toml(
[[implementation]]
name = "gained"
source = "lapse.cu"
requires = "sm_80"
space = { passes = [1, 2], narrow = [0] }
constraints = []

[[implementation.kernel]]
entry = "lapse_rowwise"
params = ["ptr:x", "ptr:y", "dim:rows", "dim:cols"]
grid = ["min(rows, 65535)"]
block = ["32"]
shared_bytes = "0"
)toml";
  }
  [[nodiscard]] Outcome sweep(const std::vector<std::string>& more, bool with_op = true) const {
    std::vector<std::string> words{"sweep",      "--device",   device,          "--budget-ms", "10",
                                   "--strategy", "exhaustive", "--no-ceilings", "--cache",     cache()};
    if (with_op) words.insert(words.end(), {"--ops", (folder / "ops").string()});
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  [[nodiscard]] static std::string problem(int rows) {
    return "lapse[dtype=f32,kind=one]{rows=" + std::to_string(rows) + ",cols=33}";
  }
  using Left = std::map<std::string, int>;
  /// The configs left to try at each problem, as a dry run tells.
  [[nodiscard]] Left left() const {
    const Outcome planned = sweep({"--tuned", "--dry-run", "--format", "json"});
    EXPECT_EQ(planned.code, 0) << planned.err;
    Left left;
    const auto json = nlohmann::json::parse(planned.out);
    for (const auto& row : json["rows"]) left[row["problem"]] = row["to_try"];
    return left;
  }

  std::string device = "cpu";
};

TEST_F(TunedSweep, tries_what_the_definition_gained_and_nothing_again) {
  ASSERT_EQ(sweep({"lapse", "rows=3,40", "cols=33"}).code, 0);
  const Outcome known = sweep({"--tuned"});
  EXPECT_EQ(known.code, 0);
  EXPECT_TRUE(contains(known.err, "0 configs measured, 12 known before, 0 binaries compiled")) << known.err;
  gain();
  EXPECT_EQ(left(), (Left{{problem(3), 2}, {problem(40), 2}}));
  const Outcome outcome = sweep({"--tuned"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "4 configs measured, 12 known before")) << outcome.err;
  EXPECT_EQ(left(), (Left{{problem(3), 0}, {problem(40), 0}}));
}

TEST_F(TunedSweep, takes_the_problems_that_the_words_choose_within_the_bound_of_trials) {
  ASSERT_EQ(sweep({"lapse", "rows=3,40", "cols=33"}).code, 0);
  gain();
  const Outcome outcome = sweep({"--tuned", "lapse", "rows=40,50", "kind=one", "--max-trials", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "1 config measured, 6 known before")) << outcome.err;
  EXPECT_EQ(left(), (Left{{problem(3), 2}, {problem(40), 1}}));
}

TEST_F(TunedSweep, takes_the_problems_of_one_model) {
  ASSERT_EQ(sweep({"lapse", "rows=3", "cols=33"}).code, 0);
  {
    Store store(cache());
    DeviceFacts first = demo_device(), second = demo_device();
    first.name = "Fictional 1";
    second.name = "Fictional 2";
    store.put_device(first);
    store.put_device(second);
    const WinnerRow row = store.list_winners({.op = "lapse", .mode = {}, .role = WinnerRole::best}).at(0);
    const ProblemKey key{parse_problem(problem(7), *store.interface_of("lapse")), row.interface_hash,
                         first.fingerprint()};
    Winner winner = row.winner;
    winner.trial.id = store.put_trial(key, row.implementation_hash, winner.trial);
    store.put_winners(key, MeasureMode::cold, {winner});
  }
  EXPECT_EQ(left(), (Left{{problem(3), 0}}));
  device = "fictional";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--tuned"}, {"lapse", "--seeded", "3"}}) {
    std::vector<std::string> typed = words;
    typed.push_back("--dry-run");
    const Outcome both = sweep(typed);
    EXPECT_EQ(both.code, 2) << both.out;
    EXPECT_TRUE(contains(both.err, "of one model, and these devices are of 2: Fictional 1 (")) << both.err;
  }
  device = "fictional 1";
  EXPECT_TRUE(contains(sweep({"--tuned", "--dry-run"}).out, "rows=7"));
  device = "fictional 2";
  EXPECT_TRUE(contains(sweep({"--tuned", "--dry-run"}).err, "no such winner on Fictional 2"));
}

TEST_F(TunedSweep, says_what_to_type_where_there_is_no_winner) {
  const Outcome nowhere = sweep({"--tuned"});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_TRUE(contains(nowhere.err, "no problem is tuned") && contains(nowhere.err, "tilewright sweep OP"))
      << nowhere.err;
  EXPECT_FALSE(std::filesystem::exists(cache()));

  ASSERT_EQ(sweep({"lapse", "rows=3", "cols=33"}).code, 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"lapse", "softmax"}, {"softmax"}}) {
    const Outcome other = sweep({"--tuned", "--dry-run", words.front(), words.back()});
    EXPECT_EQ(other.code, 1);
    EXPECT_TRUE(contains(other.err, "no such winner on cpu; make some: tilewright sweep softmax")) << other.err;
  }
  EXPECT_TRUE(contains(sweep({"--tuned", "lapse", "rows=4"}).err, "no such winner on cpu")) << "of these rows";
  EXPECT_TRUE(contains(sweep({"--tuned", "--mode", "hot"}).err, "make some: tilewright sweep OP")) << "in this mode";
  std::string text = read_file(definition());
  std::ofstream(definition()) << text.replace(text.find("kind = "), 0, "more = [\"no\"], ");
  EXPECT_TRUE(contains(sweep({"--tuned", "lapse"}).err, "no such winner on cpu")) << "of this interface";

  const Outcome undefined = sweep({"--tuned"}, false);
  EXPECT_EQ(undefined.code, 1);
  EXPECT_TRUE(contains(undefined.err, "lapse is left: its definition is not here")) << undefined.err;
}

TEST_F(TunedSweep, goes_with_no_shapes_and_no_other_kind_of_sweep) {
  for (const auto& [more, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--shapes", "rows=4 cols=5"}, "--tuned takes its problems from the winners"},
           {{"--shapes-file", "some.csv"}, "--shapes-file does not go with it"},
           {{"--seeded", "3"}, "--seeded does not go with it"},
           {{"--dtype", "f32"}, "--dtype does not go with it"},
           {{"--config", "rowwise{passes=1,narrow=0}"}, "--config does not go with it"},
           {{"--campaign", "some.toml"}, "--campaign names its problems in the file: --tuned does not go with it"},
           {{"--misses"}, "--misses and --tuned: one of them at a time"},
           {{"--revalidate"}, "--revalidate and --tuned: one of them at a time"},
           {{"--replay", "some.db"}, "--replay and --tuned: one of them at a time"},
           {{"rows=3"}, "'rows=3' stands before its op"},
           {{"lapse", "row=3"}, "lapse has no dim or attribute 'row'"}}) {
    std::vector<std::string> words{"--tuned"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = sweep(words);
    EXPECT_EQ(outcome.code, 2) << told << "\n" << outcome.err;
    EXPECT_TRUE(contains(outcome.err, told)) << outcome.err;
  }
}

}  // namespace
}  // namespace tilewright::testing
