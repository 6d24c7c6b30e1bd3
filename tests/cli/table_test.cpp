// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class TableVerb : public CliTest {
 protected:
  TableVerb() { fill_demo_cache(cache(), 12); }
};

/// The longest line's width in a terminal's columns.
std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) {
    std::size_t characters = 0;
    for (const char byte : line) characters += (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U ? 1 : 0;
    most = std::max(most, characters);
  }
  return most;
}

TEST_F(TableVerb, lists_winners_by_dims_as_numbers) {
  const auto json = json_of({"table", "demo"});
  ASSERT_EQ(json["rows"].size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(json["rows"][i]["rows"], i + 1);
  EXPECT_DOUBLE_EQ(json["rows"][1]["time_ns"], 2000.0);
  EXPECT_DOUBLE_EQ(json["rows"][1]["speedup_over_base"], 2.0);
  EXPECT_EQ(json["rows"][1]["match"], "exact, fresh, same device");
}

TEST_F(TableVerb, of_an_op_whose_definition_is_elsewhere_says_what_that_costs) {
  const Outcome outcome = run_on_ops({"table", "demo"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(contains(outcome.out, "--ops DIR")) << outcome.out;
}

TEST_F(TableVerb, fits_the_width_it_is_given) {
  for (const std::size_t width : {80U, 200U}) {
    const RunOptions narrow{.environment = {{"COLUMNS", std::to_string(width)}}};
    const Outcome outcome = run_on_ops({"table", "demo"}, narrow);
    EXPECT_LE(widest(outcome.out), width) << outcome.out;
    EXPECT_TRUE(contains(outcome.out, demo_device().fingerprint()));
  }
}

TEST_F(TableVerb, has_csv_and_markdown) {
  const Outcome csv = run_on_ops({"table", "demo", "--format", "csv"});
  EXPECT_EQ(csv.out.rfind("shape_key,op,dtype,act,rows,cols,winner,time_ns,time_low_ns,time_high_ns,", 0), 0U)
      << csv.out;
  EXPECT_TRUE(contains(csv.out, "\"demo[dtype=f32,act=none]{rows=2,cols=64}\",demo,f32,none,2,64,plain{vec=4},2000,"));
  const Outcome markdown = run_on_ops({"table", "demo", "--format", "markdown"});
  EXPECT_TRUE(contains(markdown.out, "| plain{vec=4} | 2.000 µs |")) << markdown.out;
}

TEST_F(TableVerb, narrows_by_dtype_device_and_mode) {
  EXPECT_EQ(json_of({"table", "demo", "--dtype", "f32,bf16"})["rows"].size(), 12U);
  EXPECT_TRUE(json_of({"table", "demo", "--dtype", "bf16"}, 1)["rows"].empty());
  EXPECT_EQ(json_of({"table", "demo", "--device", "Fictional"})["rows"].size(), 12U);
  EXPECT_TRUE(json_of({"table", "demo", "--device", "cpu"}, 1)["rows"].empty());
  EXPECT_TRUE(json_of({"table", "demo", "--mode", "hot"}, 1)["rows"].empty());
}

TEST_F(TableVerb, of_nothing_says_how_to_make_something) {
  const Outcome outcome = run_on_ops({"table", "softmax"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.out, "tilewright sweep softmax")) << outcome.out;
}

TEST_F(TableVerb, of_an_unknown_op_names_the_nearest) {
  const Outcome outcome = run_on_ops({"table", "sotfmax"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "did you mean 'softmax'?")) << outcome.err;
}

TEST_F(TableVerb, has_bandwidth_where_the_definition_is_at_hand) {
  use_swept_cache();
  const auto json = json_of({"table", "shift"});
  ASSERT_GE(json["rows"].size(), 1U);
  const auto& row = json["rows"][0];
  EXPECT_EQ(row["bytes"], 2 * 2 * 33 * 4);
  EXPECT_NEAR(row["gb_per_s"].get<double>(), 528.0 / row["time_ns"].get<double>(), 1e-9);
  EXPECT_FALSE(json["notes"].empty());
}

}  // namespace
}  // namespace tilewright::testing
