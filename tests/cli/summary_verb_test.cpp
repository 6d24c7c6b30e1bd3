// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <sstream>

#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class SummaryVerb : public CliTest {
 protected:
  [[nodiscard]] Outcome asked(std::vector<std::string> words) const {
    words.insert(words.end(), {"--cache", TILEWRIGHT_SHIPPED_WINNERS});
    return run(words, {.environment = {{"COLUMNS", "80"}}});
  }
};

TEST_F(SummaryVerb, has_a_row_an_op_dtype_and_device) {
  const Outcome outcome = asked({"summary", "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  std::set<std::string> rows;
  for (const auto& row : json["rows"]) {
    const std::string op = row["op"];
    EXPECT_TRUE(rows.insert(op + row["dtype"].get<std::string>() + row["device"].get<std::string>()).second) << op;
    EXPECT_GT(row["problems"], 0);
    EXPECT_GT(row["speedup_over_base"], 1.0) << op;
    EXPECT_LE(row["share_at_median"], 1.02) << op;
    EXPECT_LE(row["share_at_tenth"], row["share_at_median"]) << op;
  }
  EXPECT_GT(rows.size(), 30U);
}

TEST_F(SummaryVerb, has_the_share_that_nine_tenths_exceed) {
  const Outcome outcome = asked({"summary"});
  EXPECT_NE(outcome.out.find(" p10 "), std::string::npos) << outcome.out;
}

TEST_F(SummaryVerb, says_that_there_is_nothing) {
  const Outcome outcome = run({"summary", "--cache", (folder / "none.db").string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_FALSE(outcome.out.empty() && outcome.err.empty());
}

TEST_F(SummaryVerb, is_what_a_long_table_is_for_people_unless_rows_are_asked_for) {
  const Outcome plain = asked({"table", "gemm"});
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_LT(std::count(plain.out.begin(), plain.out.end(), '\n'), 120) << "two lines for each dtype and attributes";
  EXPECT_NE(plain.out.find("tilewright table gemm --top "), std::string::npos) << plain.out;
  const Outcome json = asked({"table", "gemm", "--format", "json"});
  EXPECT_GT(nlohmann::json::parse(json.out)["rows"].size(), 3000U);
  EXPECT_NE(asked({"table", "gemm", "--top", "3"}).out.find("Winners of gemm\n"), std::string::npos);
}

TEST_F(SummaryVerb, leaves_room_for_the_share_of_the_ceiling_in_80_columns) {
  const Outcome table = asked({"table", "softmax", "dtype=bf16", "cols=4096", "--top", "5"});
  std::istringstream lines(table.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 90U) << line;  // µ and ± are two bytes
  EXPECT_NE(table.out.find("of ceiling"), std::string::npos) << table.out;
}

}  // namespace
}  // namespace tilewright::testing
