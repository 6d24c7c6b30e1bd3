// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/vocabulary.hpp"

#include <gmock/gmock.h>

namespace tilewright::reading {
namespace {

using ::testing::ElementsAre;

/// Reads `formula = …` and keeps the messages.
struct Reading {
  std::optional<Formula> formula;
  std::vector<std::string> mistakes;
};

Vocabulary vocabulary() { return {{"rows", "cols"}, {{"act", {"none", "gelu"}}}, {DType::f32, DType::bf16}, {"vec"}}; }

Reading read(const std::string& toml, Stage stage, const Vocabulary& known = vocabulary()) {
  const Node root = parse_toml("formula = " + toml + "\n", "f.toml");
  Mistakes mistakes("f.toml");
  Reading reading{read_formula(root.members[0].value, "'formula'", stage, known, mistakes), {}};
  try {
    mistakes.throw_if_any();
  } catch (const DefinitionError& error) {
    for (const Diagnostic& mistake : error.mistakes()) reading.mistakes.push_back(mistake.text());
  }
  EXPECT_EQ(reading.formula.has_value(), reading.mistakes.empty());
  return reading;
}

TEST(Stage, decides_which_names_a_formula_may_use) {
  EXPECT_THAT(read("\"act == 'gelu' and dtype != 'f32'\"", Stage::call).mistakes, ElementsAre());
  EXPECT_THAT(read("\"rows * cols * sizeof(dtype)\"", Stage::problem).mistakes, ElementsAre());
  EXPECT_THAT(read("\"rows % vec + sm_count\"", Stage::config).mistakes, ElementsAre());
  EXPECT_THAT(read("\"min(rows, resident_blocks) + max_active_clusters\"", Stage::grid).mistakes, ElementsAre());

  EXPECT_THAT(read("\"rows\"", Stage::call).mistakes,
              ElementsAre("f.toml:1:12: unknown name 'rows' in `rows`; only attributes and dtype can be used here"));
  EXPECT_THAT(
      read("\"vec\"", Stage::problem).mistakes,
      ElementsAre("f.toml:1:12: unknown name 'vec' in `vec`; only dims, attributes and dtype can be used here"));
  EXPECT_THAT(read("\"resident_blocks\"", Stage::config).mistakes,
              ElementsAre("f.toml:1:12: unknown name 'resident_blocks' in `resident_blocks`; only a kernel's grid can "
                          "use it"));
}

TEST(ReadFormula, reports_every_mistake_of_a_formula_with_its_own_column) {
  EXPECT_THAT(read("\"rwos + clos + act\"", Stage::problem).mistakes,
              ElementsAre("f.toml:1:12: unknown name 'rwos' in `rwos + clos + act`; did you mean 'rows'?",
                          "f.toml:1:19: unknown name 'clos' in `rwos + clos + act`; did you mean 'cols'?",
                          "f.toml:1:26: 'act' is text, where a number is needed in `rwos + clos + act`"));
}

TEST(ReadFormula, points_into_texts_of_several_lines) {
  EXPECT_THAT(read("\"\"\"\nrows +\n  clos\"\"\"", Stage::problem).mistakes,
              ElementsAre("f.toml:3:3: unknown name 'clos' in `rows +\n  clos`; did you mean 'cols'?"));
}

TEST(ReadFormula, takes_numbers_and_truth_without_quotes) {
  EXPECT_EQ(read("128", Stage::call).formula->text(), "128");
  EXPECT_EQ(read("true", Stage::call).formula->text(), "true");
  EXPECT_THAT(read("0.5", Stage::call).mistakes,
              ElementsAre("f.toml:1:11: 'formula' must be a formula in quotes, and is a number with a fraction"));
}

TEST(ReadFormula, calls_no_name_unknown_when_it_does_not_know_them_all) {
  Vocabulary half = vocabulary();
  half.complete = false;
  EXPECT_THAT(read("\"rows * depth\"", Stage::problem, half).mistakes, ElementsAre());
  EXPECT_THAT(read("\"rows *\"", Stage::problem, half).mistakes,
              ElementsAre("f.toml:1:18: expected a value, found the end in `rows *`"));
}

}  // namespace
}  // namespace tilewright::reading
