// SPDX-License-Identifier: Apache-2.0
// `regret --measure`, on the emulator: it measures unknown losses, and does not change the judged cache.
#include <algorithm>
#include <fstream>

#include "cache/store/store.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class RegretVerb : public CliTest {
 protected:
  /// Tunes one shape with this config alone.
  void tune(const std::string& rows, const std::string& cols, const std::string& config,
            const std::string& kind = "one") const {
    const Outcome outcome = on_lapse({"sweep", "lapse", "kind=" + kind, "rows=" + rows, "cols=" + cols, "--config",
                                      config, "--device", "cpu", "--budget-ms", "10", "--no-ceilings", "--quiet"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  [[nodiscard]] Outcome on_lapse(std::vector<std::string> words) const {
    words.insert(words.end(), {"--ops", TILEWRIGHT_TEST_REGRET_OPS, "--cache", cache()});
    return run(words);
  }
  [[nodiscard]] Outcome measure(std::vector<std::string> more) const {
    std::vector<std::string> words{"regret",      "lapse", "--measure", "--device", "cpu",
                                   "--budget-ms", "20",    "--quiet",   "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return on_lapse(words);
  }
  [[nodiscard]] nlohmann::json rows_of(const Outcome& outcome) const {
    return nlohmann::json::parse(outcome.out, nullptr, false).value("rows", nlohmann::json::array());
  }
  [[nodiscard]] std::int64_t trials(const std::string& file) const {
    return Store(file, {.access = StoreAccess::read}).counts().trials;
  }
};

TEST_F(RegretVerb, times_what_was_never_timed_beside_the_winner_and_writes_nothing) {
  tune("3", "33", "rowwise{passes=16,narrow=0}");
  tune("6", "70", "rowwise{passes=4,narrow=0}");
  const nlohmann::json unknown = rows_of(on_lapse({"regret", "lapse", "--each", "--format", "json"}));
  ASSERT_EQ(unknown.size(), 2U);
  for (const nlohmann::json& row : unknown) EXPECT_TRUE(row["loss"].is_null()) << row;
  const std::int64_t before = trials(cache());

  const Outcome measured = measure({"--each"});
  EXPECT_EQ(measured.code, 0) << measured.err;
  const nlohmann::json rows = rows_of(measured);
  ASSERT_EQ(rows.size(), 2U) << measured.out;
  // Sixteen passes are slower than four, whatever the machine's load: only the shape that is served sixteen loses.
  EXPECT_LT(rows[0]["loss"].get<double>(), 0) << measured.out;
  EXPECT_GT(rows[1]["loss"].get<double>(), 0.2) << measured.out;
  for (const nlohmann::json& row : rows) {
    const double loss = row["served_ns"].get<double>() / row["winner_ns"].get<double>() - 1;
    EXPECT_DOUBLE_EQ(row["loss"].get<double>(), loss);
  }
  EXPECT_EQ(trials(cache()), before);
}

TEST_F(RegretVerb, tells_what_would_be_served_and_is_wrong_there) {
  tune("3", "33", "rowwise{passes=1,narrow=1}");
  const Outcome wrong = measure({"rows=5", "cols=50", "--each"});
  EXPECT_EQ(wrong.code, 1) << wrong.err;
  const nlohmann::json rows = rows_of(wrong);
  ASSERT_EQ(rows.size(), 1U) << wrong.out;
  EXPECT_EQ(rows[0]["served"], "rowwise{passes=1,narrow=1}");
  EXPECT_TRUE(contains(rows[0]["failure"].get<std::string>(), "wrong_result: y[0][40]")) << rows[0];
  EXPECT_TRUE(rows[0]["loss"].is_null());
  EXPECT_TRUE(contains(wrong.out, "would be served rowwise{passes=1,narrow=1}: wrong_result")) << wrong.out;
  EXPECT_EQ(measure({"rows=5", "cols=39"}).code, 0) << "there it is right";
}

TEST_F(RegretVerb, judges_drawn_shapes_that_nobody_tuned_and_keeps_their_sweeps_where_it_is_told_to) {
  tune("3", "33", "rowwise{passes=16,narrow=0}");
  tune("9", "90", "rowwise{passes=16,narrow=0}");
  const std::string into = (folder / "into.db").string();
  const std::int64_t before = trials(cache());
  const Outcome first = measure({"--seeded", "3", "--into", into, "--each"});
  EXPECT_EQ(first.code, 0) << first.err;
  const nlohmann::json rows = rows_of(first);
  ASSERT_EQ(rows.size(), 3U) << first.out;
  for (const nlohmann::json& row : rows) {
    EXPECT_EQ(row["fit"], "nearest");
    EXPECT_GT(row["loss"].get<double>(), 0.2) << "one pass is enough: " << row;
  }
  EXPECT_GT(trials(into), 3);
  EXPECT_EQ(trials(cache()), before);

  const std::int64_t swept = trials(into);
  const nlohmann::json again = rows_of(measure({"--seeded", "3", "--into", into, "--each"}));
  ASSERT_EQ(again.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(again[i]["problem"], rows[i]["problem"]);
  EXPECT_EQ(trials(into), swept) << "what was swept is known";
  const nlohmann::json others = rows_of(measure({"--seeded", "3", "--seed", "2", "--max-configs", "2", "--each"}));
  ASSERT_EQ(others.size(), 3U);
  EXPECT_NE(others[0]["problem"], rows[0]["problem"]);
}

TEST_F(RegretVerb, draws_shapes_that_share_no_dim_with_any_of_the_op) {
  tune("3", "33", "rowwise{passes=1,narrow=0}");
  tune("12", "90", "rowwise{passes=1,narrow=0}");
  tune("4,5,6,7,8,9", "200", "rowwise{passes=1,narrow=0}", "another");
  const nlohmann::json rows = rows_of(measure({"kind=one", "--seeded", "3", "--max-configs", "1", "--each"}));
  ASSERT_FALSE(rows.empty());
  for (const nlohmann::json& row : rows) {
    const auto problem = row["problem"].get<std::string>();
    for (const char* taken : {"rows=4,", "rows=5,", "rows=6,", "rows=7,", "rows=8,", "rows=9,"}) {
      EXPECT_FALSE(contains(problem, taken)) << problem << " is another's";
    }
  }
}

TEST_F(RegretVerb, draws_shapes_that_share_a_dim_where_there_are_no_others_and_says_so) {
  tune("3", "33,90", "rowwise{passes=1,narrow=0}");
  const Outcome drawn = measure({"--seeded", "3", "--max-configs", "1", "--each"});
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  const nlohmann::json rows = rows_of(drawn);
  ASSERT_EQ(rows.size(), 3U) << drawn.out;
  for (const nlohmann::json& row : rows) {
    const auto problem = row["problem"].get<std::string>();
    EXPECT_TRUE(contains(problem, "rows=3,")) << problem;
    EXPECT_FALSE(contains(problem, "cols=33}") || contains(problem, "cols=90}")) << problem << " is tuned";
  }
  EXPECT_TRUE(contains(drawn.out, "3 of 3 drawn shapes share a dim with a tuned shape of the op.")) << drawn.out;
}

TEST_F(RegretVerb, draws_no_shape_with_more_bytes_or_flops_than_any_that_is_tuned) {
  tune("3", "200", "rowwise{passes=1,narrow=0}");
  tune("60", "20", "rowwise{passes=1,narrow=0}");
  const nlohmann::json rows = rows_of(measure({"--seeded", "8", "--max-configs", "1", "--each"}));
  ASSERT_EQ(rows.size(), 8U);
  for (const nlohmann::json& row : rows) {
    const std::string key = row["problem"];
    const auto length = [&](const std::string& dim) {
      return std::stoll(key.substr(key.find(dim + "=") + dim.size() + 1));
    };
    EXPECT_LE(length("rows") * length("cols"), 1200) << key;
    EXPECT_LE(length("rows") * length("cols") * length("cols"), 3 * 200 * 200) << key;
  }
}

TEST_F(RegretVerb, judges_named_shapes_tuned_or_not) {
  tune("3", "33", "rowwise{passes=16,narrow=0}");
  tune("9", "90", "rowwise{passes=1,narrow=0}");
  const nlohmann::json rows = rows_of(measure({"rows=3", "cols=33,60", "--each", "--max-configs", "2"}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["served"], "rowwise{passes=1,narrow=0}") << "by the other one";
  EXPECT_EQ(rows[0]["winner"], "rowwise{passes=16,narrow=0}");
  EXPECT_TRUE(contains(rows[1]["problem"].get<std::string>(), "cols=60"));
  EXPECT_FALSE(rows[1]["loss"].is_null());
  const Outcome unmeasured = on_lapse({"regret", "lapse", "rows=3", "cols=60"});
  EXPECT_EQ(unmeasured.code, 1);
  EXPECT_TRUE(contains(unmeasured.out, "--measure judges untuned ones")) << unmeasured.out;
}

TEST_F(RegretVerb, judges_the_shapes_of_a_file) {
  tune("3", "33", "rowwise{passes=1,narrow=0}");
  const std::string file = (folder / "shapes.csv").string();
  std::ofstream(file) << "cols,rows\n60,4\n33,3\n";
  const nlohmann::json rows = rows_of(measure({"--shapes-file", file, "--each", "--max-configs", "2"}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(contains(rows[0]["problem"].get<std::string>(), "rows=4,cols=60"));
  EXPECT_TRUE(contains(rows[1]["problem"].get<std::string>(), "rows=3,cols=33"));
  const Outcome missing = on_lapse({"regret", "lapse", "--shapes-file", "no_such.csv"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(contains(missing.err, "no_such.csv")) << missing.err;
}

TEST_F(RegretVerb, that_cannot_be_measured_says_why) {
  tune("3", "33", "rowwise{passes=1,narrow=0}");
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{"regret", "lapse", "--seeded", "3"}, "--seeded goes with --measure"},
      {{"regret", "lapse", "--into", "x.db"}, "--into goes with --measure"},
      {{"regret", "lapse", "--budget", "5s"}, "--budget goes with --measure"},
      {{"regret", "lapse", "--jobs", "2"}, "--jobs goes with --measure"},
      {{"regret", "lapse", "--measure", "--seeded", "0"}, "--seeded"},
      {{"regret", "lapse", "--measure", "--seeded", "many"}, "--seeded"},
      {{"regret", "lapse", "--measure", "--device", "cpuu"}, "'cpu'"},
      {{"regret", "lapse", "--measure", "--device", "cpu", "rows=3"}, "cols"},
      {{"regret", "lapse", "--measure", "--device", "cpu", "rosw=3", "cols=4"}, "'rows'"},
      {{"regret", "lapse", "--measure", "--device", "cpu", "rows=0", "cols=4"}, "rows"},
      {{"regret", "lapse", "--measure", "--device", "cpu", "--into", cache()}, cache()},
  };
  for (const auto& [words, text] : mistakes) {
    const Outcome outcome = on_lapse(words);
    EXPECT_EQ(outcome.code, 2) << words.back() << outcome.err << outcome.out;
    EXPECT_TRUE(contains(outcome.err, text)) << outcome.err;
  }
  // The cache has nothing of this device.
  const Outcome none =
      run({"regret", "softmax", "--measure", "--device", "cpu", "--cache", TILEWRIGHT_SHIPPED_WINNERS});
  EXPECT_EQ(none.code, 1) << none.err;
  EXPECT_TRUE(contains(none.out, "has no winner of softmax on cpu")) << none.out;
  // The op was tuned with another definition.
  const Outcome other = run({"regret", "lapse", "--measure", "--device", "cpu", "--cache", cache()});
  EXPECT_EQ(other.code, 2) << other.out;
  EXPECT_TRUE(contains(other.err, "lapse")) << other.err;
}

}  // namespace
}  // namespace tilewright::testing
