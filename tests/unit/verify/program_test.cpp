// SPDX-License-Identifier: Apache-2.0
#include "tuner/verify/program.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "cache/base/error.hpp"
#include "cache/model/formula/source_text.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t kMost = 0x7fffffffffffffff;

/// m = 5, most = 2^63 - 1, act = 'gelu', dtype = 'bf16', and the indices i and j.
class Names : public Scope {
 public:
  std::optional<Value> find(std::string_view name) const override {
    if (name == "m") return 5;
    if (name == "most") return kMost;
    if (name == "act") return "gelu";
    if (name == "dtype") return "bf16";
    if (name == "i") return i;
    if (name == "j") return j;
    return std::nullopt;
  }
  std::vector<std::string> names() const override { return {"m", "most", "act", "dtype", "i", "j"}; }
  std::int64_t i = 0;
  std::int64_t j = 0;
};

const std::vector<std::string> kIndex{"i", "j"};

/// Expects the program to equal the formula at a few indices.
void expect_same(const std::string& text) {
  const Formula formula = Formula::parse(text);
  Names names;
  const std::vector<utility::i64> program = program_of(formula, kIndex, names);
  for (names.i = 0; names.i < 4; ++names.i) {
    for (names.j = -2; names.j < 2; ++names.j) {
      std::optional<std::int64_t> expected;
      try {
        expected = formula.integer(names);
      } catch (const DefinitionError&) {
        // The formula has no value there.
      }
      const utility::i64 indices[] = {names.i, names.j};
      const utility::MaybeNumber got = utility::run_program(program.data(), indices);
      ASSERT_EQ(got.exists, expected.has_value()) << text << " at " << names.i << ", " << names.j;
      ASSERT_EQ(expected.value_or(0), expected ? got.number : 0) << text << " at " << names.i << ", " << names.j;
    }
  }
}

TEST(Program, has_the_value_of_every_function_at_every_edge) {
  for (const char* a : {"i", "j", "m", "-j * most", "most - j", "-most - 1 - i"}) {
    for (const char* b : {"j", "i - 1", "most - i", "3"}) {
      const std::string x = a, y = b;
      for (const char* op : {"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or"}) {
        expect_same("(" + x + ") " + op + " (" + y + ")");
      }
      for (const char* function : {"ceil_div", "round_up", "min", "max"}) {
        expect_same(std::string(function) + "(" + x + ", " + y + ")");
      }
      expect_same("select(" + x + " > " + y + ", " + x + ", 1 / j)");
    }
    const std::string x = a;
    expect_same("-(" + x + ")");
    expect_same("not (" + x + ")");
    expect_same("log2(" + x + ")");
    expect_same("pow2_ceil(" + x + ")");
  }
}

TEST(Program, takes_no_notice_of_errors_where_they_do_not_count) {
  expect_same("select(j == 0, 7, 10 / j)");
  expect_same("j == 0 or 10 / j > 3");
  expect_same("j != 0 and 10 / j > 3");
  expect_same("select(i < 9, i, 1 / 0)");
  expect_same("select(1 / j > 0, 1, 2)");
  expect_same("min(i, j, 1 / (i - 2), 4)");
}

TEST(Program, knows_texts_and_types_that_are_the_same_for_all_elements) {
  expect_same("select(act == 'gelu', i, j) * sizeof(dtype) + select(dtype == 'f16', 100, m)");
}

TEST(Program, agrees_with_formulas_made_by_chance) {
  std::mt19937 engine(20250318);
  const auto below = [&](unsigned count) { return engine() % count; };
  const auto expression = [&](const auto& self, int depth) -> std::string {
    static constexpr const char* kLeaves[] = {"i", "j", "m", "0", "1", "7", "most", "4294967296"};
    static constexpr const char* kOps[] = {"+", "-", "*", "/", "%", "<", "==", "and", "or"};
    if (depth == 0) return kLeaves[below(8)];
    const std::string a = self(self, depth - 1), b = self(self, depth - 1);
    switch (below(6)) {
      case 0:
        return "select(" + a + ", " + b + ", " + self(self, depth - 1) + ")";
      case 1:
        return "max(" + a + ", " + b + ")";
      default:
        return "(" + a + " " + kOps[below(9)] + " " + b + ")";
    }
  };
  for (int n = 0; n < 400; ++n) expect_same(expression(expression, static_cast<int>(below(5))));
}

TEST(Program, of_a_formula_that_is_nested_too_deep_is_refused_at_its_place) {
  std::string text = "i";
  for (int depth = 0; depth < utility::kMostDepth; ++depth) text = "(1 + " + text + ")";
  Names names;
  EXPECT_THROW((void)program_of(Formula::parse(text), kIndex, names), DefinitionError);
  text = "i";
  for (int depth = 0; depth < 150; ++depth) text = "(" + text + " + 1)";
  expect_same(text);
}

}  // namespace
}  // namespace tilewright
