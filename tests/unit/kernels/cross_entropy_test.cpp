// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>

#include "tests/unit/kernels/elementwise.hpp"

/// The op `cross_entropy`.
namespace tilewright::test::cross_entropy_test {
namespace {

BuiltInOp& op() {
  static BuiltInOp op("cross_entropy");
  return op;
}

class CrossEntropy : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string key(const char* grad, int rows, int vocab, const char* pitch = "dense") {
    return fmt::format("cross_entropy[dtype={},grad={},pitch={}]{{rows={},vocab={}}}", GetParam(), grad, pitch, rows,
                       vocab);
  }

  /// Expects a config of `told` to be right for each way of loading and keeping rows.
  static void expect_right_told(const char* grad, int rows, int vocab, const char* pitch,
                                const ArgumentSet::Options& options = {}) {
    const Problem problem = op().problem(key(grad, rows, vocab, pitch));
    std::set<std::string> ways;
    for (const Config& config : op().sample(problem, "told", 1000)) {
      const std::string text = config.text();
      if (!ways.insert(text.substr(text.find("ahead="), std::string_view("ahead=0,kept=0").size())).second) continue;
      EXPECT_EQ(op().fault(problem, config, options), "") << problem.key() << ' ' << text;
    }
    EXPECT_GE(ways.size(), 3U) << problem.key();
  }

  /// Expects a config of `told_aside` to be right for each number of vectors in registers and way of keeping elements.
  static void expect_right_told_aside(int rows, int vocab, const char* pitch,
                                      const ArgumentSet::Options& options = {}) {
    const Problem problem = op().problem(key("yes", rows, vocab, pitch));
    std::set<std::string> ways;
    for (const Config& config : op().sample(problem, "told_aside", 1000)) {
      const std::string text = config.text();
      const std::size_t held = text.find("held="), kept = text.find("kept=");
      const std::string way = text.substr(held, text.find(',', held) - held) + text.substr(kept, 6);
      if (!ways.insert(way).second) continue;
      EXPECT_EQ(op().fault(problem, config, options), "") << problem.key() << ' ' << text;
    }
    EXPECT_GE(ways.size(), 3U) << problem.key();
  }
};

TEST_P(CrossEntropy, is_right_for_narrow_wide_and_odd_rows) {
  for (const char* grad : {"no", "yes"}) {
    for (const auto& [rows, vocab] : {std::pair(1, 1), {3, 2}, {11, 64}, {9, 257}, {3, 4099}}) {
      expect_right_base(op(), key(grad, rows, vocab));
      expect_right_base(op(), key(grad, rows, vocab, "strided"));
      expect_right(op(), key(grad, rows, vocab), "reread", 2);
    }
  }
}

TEST_P(CrossEntropy, is_right_with_rows_in_registers) {
  for (const auto& [rows, vocab] : {std::pair(11, 64), {9, 257}, {3, 4096}, {3, 4099}}) {
    for (const char* grad : {"no", "yes"}) expect_right(op(), key(grad, rows, vocab), "resident", 2);
  }
  expect_right(op(), key("yes", 3, 4099, "strided"), "resident", 2);
}

TEST_P(CrossEntropy, is_right_with_rows_over_clusters) {
  for (const int vocab : {32000, 50257}) expect_right(op(), key("yes", 7, vocab), "cluster", 1);
}

TEST_P(CrossEntropy, is_right_with_rows_that_warps_of_a_cluster_tell_of) {
  expect_right_told("yes", 9, 16411, "dense");
  expect_right_told("yes", 3, 16388, "strided");
  expect_right_told("no", 3, 16384, "dense");
  expect_right_told("yes", 3, 16411, "dense", {.seed = 7, .misalign_elements = 3});
  expect_right_told("yes", 2, 16384, "dense", {.seed = 3, .in_place = true});
}

TEST_P(CrossEntropy, is_right_with_rows_partly_in_shared_memory) {
  expect_right_told_aside(3, 32003, "dense");
  expect_right_told_aside(2, 17408, "strided");
  expect_right_told_aside(2, 17401, "dense", {.seed = 7, .misalign_elements = 3});
  expect_right_told_aside(2, 17408, "dense", {.seed = 3, .in_place = true});
}

TEST_P(CrossEntropy, is_right_with_copies_that_go_on_into_the_next_row) {
  for (const int vocab : {4096, 4099}) {
    expect_right(op(), key("no", 3, vocab), "stream", 2);
    expect_right(op(), key("no", 601, vocab, "strided"), "stream", 1);
  }
  expect_right(op(), key("no", 3, 4099), "stream", 1, {.seed = 7, .misalign_elements = 3});
}

TEST_P(CrossEntropy, serves_addresses_that_are_only_element_aligned) {
  for (const int shift : {1, 3}) {
    const ArgumentSet::Options options{.seed = 7, .misalign_elements = shift};
    expect_right_base(op(), key("yes", 3, 61), options);
    expect_right_base(op(), key("yes", 3, 1000, "strided"), options);
  }
}

TEST_P(CrossEntropy, may_write_gradients_over_the_logits) {
  const ArgumentSet::Options options{.seed = 3, .in_place = true};
  for (const int vocab : {257, 4096}) {
    expect_right_base(op(), key("yes", 5, vocab), options);
    expect_right(op(), key("yes", 5, vocab), "resident", 3, options);
  }
  expect_right(op(), key("yes", 2, 32000), "cluster", 1, options);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, CrossEntropy, ::testing::ValuesIn(kDtypes),
                         [](const auto& dtype) { return std::string(dtype.param); });

}  // namespace
}  // namespace tilewright::test::cross_entropy_test
