// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/lets.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>

#include "tests/unit/definition/helpers.hpp"
#include "tests/unit/definition/spoiled.hpp"

namespace tilewright::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The small definition, whose `simple` has these lets and this constraint.
std::string with_lets(const std::string& lets, const std::string& constraint) {
  std::string toml = replaced(kMiniToml, "\"num_warps * 32 <= max_threads_per_block\"", constraint);
  return replaced(toml, "specialize = [\"cols\"]\n", fmt::format("specialize = [\"cols\"]\nlet = {{ {} }}\n", lets));
}

OpDefinition load(const std::string& toml) {
  const TempFolder folder;
  return load_definition(folder.write_mini(toml, kMiniSource), {kernels_source_dir()});
}

std::vector<std::string> mistakes_in(const std::string& toml) {
  const TempFolder folder;
  return mistakes_of(folder.write_mini(toml, kMiniSource));
}

/// The place of `text`: "12:5".
std::string place_in(const std::string& toml, std::string_view text) {
  const std::size_t at = toml.find(text);
  if (at == std::string::npos) throw std::logic_error(fmt::format("no '{}'", text));
  const std::string before = toml.substr(0, at);
  return fmt::format("{}:{}", 1 + std::ranges::count(before, '\n'), at - (before.rfind('\n') + 1) + 1);
}

TEST(Let, is_put_in_its_place_in_parentheses) {
  const OpDefinition mini = load(with_lets("threads = \"num_warps * 32\", wide = \"threads > 64\", most = 1024",
                                           "\"not wide or threads<= most\""));
  const ImplementationRecipe& recipe = mini.implementation("simple").recipe;
  ASSERT_EQ(recipe.constraints.size(), 1U);
  EXPECT_EQ(recipe.constraints[0].text(), "not ((num_warps * 32) > 64) or (num_warps * 32)<= (1024)");
  EXPECT_THAT(recipe.constraints[0].names(), ElementsAre("num_warps"));
}

TEST(Let, serves_every_formula_of_the_implementation) {
  std::string toml = with_lets("warp = 32, some = \"resident_blocks\", four = 4", "\"num_warps * warp <= 1024\"");
  toml = replaced(toml, "align = { x = \"sizeof(dtype)\" }", "align = { x = \"four / 2\" }");
  toml = replaced(toml, "when = \"rows > 0\"", "when = \"rows > warp - 32\"");
  toml = replaced(toml, "[\"min(rows, resident_blocks)\"]", "[\"min(rows, some)\"]");
  toml = replaced(toml, "[\"num_warps * 32\"]", "[\"num_warps * warp\"]");
  toml = replaced(toml, "\"num_warps * 4\"", "\"num_warps * four\"");
  toml = replaced(toml, "\"rows * 4\"", "\"rows * four\"");
  const OpDefinition mini = load(toml);
  const ImplementationRecipe& recipe = mini.implementation("simple").recipe;
  EXPECT_EQ(recipe.align.at("x").text(), "(4) / 2");
  EXPECT_EQ(recipe.kernels[0].when.text(), "rows > (32) - 32");
  EXPECT_EQ(recipe.kernels[0].grid[0].text(), "min(rows, (resident_blocks))");
  EXPECT_EQ(recipe.kernels[0].block[0].text(), "num_warps * (32)");
  EXPECT_EQ(recipe.kernels[0].shared_bytes.text(), "num_warps * (4)");
  EXPECT_EQ(recipe.workspaces[0].bytes.text(), "rows * (4)");
}

TEST(Let, may_use_one_that_stands_below_it) {
  const OpDefinition mini = load(with_lets("a = \"b + 1\", b = \"num_warps\"", "\"a > 0\""));
  EXPECT_EQ(mini.implementation("simple").recipe.constraints[0].text(), "((num_warps) + 1) > 0");
}

TEST(Let, has_its_mistakes_at_its_own_place_and_hides_no_others) {
  const std::string toml = with_lets("a = \"num_wraps + 1\", b = \"a *\"", "\"a > b + cosl\"");
  EXPECT_THAT(mistakes_in(toml),
              ElementsAre(HasSubstr(place_in(toml, "cosl") + ": unknown name 'cosl'"),
                          place_in(toml, "num_wraps") +
                              ": unknown name 'num_wraps' in `num_wraps + 1`; did you mean 'num_warps'?",
                          HasSubstr(": expected a value, found the end in `a *`")));
}

TEST(Let, that_cannot_be_evaluated_is_blamed_where_it_stands) {
  const std::string toml = with_lets("a = \"10 % (num_warps - 4)\", b = \"a + a\"", "\"num_warps == 1 or b >= 0\"");
  EXPECT_THAT(mistakes_in(toml), ElementsAre(HasSubstr(place_in(toml, "% (num_warps - 4)") + ": division by zero")));
}

TEST(Let, may_not_be_its_own_reason) {
  const std::string toml = with_lets("a = \"b\", b = \"c + 1\", c = \"a\"", "\"a > 0\"");
  EXPECT_THAT(mistakes_in(toml), ElementsAre(place_in(toml, "a = \"b\"") + ": let 'a' is defined by itself"));
}

TEST(Let, of_a_fact_of_launching_is_for_grids_alone) {
  const std::string toml = with_lets("some = \"resident_blocks\", more = \"some * 2\"", "\"more > 0\"");
  EXPECT_THAT(mistakes_in(toml), ElementsAre(place_in(toml, "more > 0") +
                                             ": unknown name 'more' in `more > 0`; only a kernel's grid can use it"));
}

TEST(Let, that_grows_beyond_all_bounds_is_refused) {
  std::string lets = "a0 = \"num_warps\"";
  for (int i = 1; i < 60; ++i) lets += fmt::format(", a{} = \"a{} + a{}\"", i, i - 1, i - 1);
  const std::vector<std::string> mistakes = mistakes_in(with_lets(lets, "\"a59 > 0\""));
  ASSERT_FALSE(mistakes.empty());
  EXPECT_THAT(mistakes[0], HasSubstr("makes the formula longer than 10000 characters"));
}

TEST(Let, is_one_of_256_at_most) {
  // In chains of 16, of which the constraint names the ends.
  const auto mistakes_of = [](int count) {
    std::string lets, sum = "0";
    for (int i = 0; i < count; ++i) {
      lets += i % 16 == 0 ? fmt::format("{}a{} = 1", i == 0 ? "" : ", ", i) : fmt::format(", a{} = \"a{}\"", i, i - 1);
      if (i % 16 == 15 || i + 1 == count) sum += fmt::format(" + a{}", i);
    }
    return mistakes_in(with_lets(lets, fmt::format("\"{} > 0\"", sum)));
  };
  EXPECT_THAT(mistakes_of(256), ElementsAre());
  EXPECT_THAT(mistakes_of(257), ElementsAre(HasSubstr("implementation 'simple' has 257 lets; 256 are allowed")));
}

TEST(Let, is_one_of_256_at_most_before_any_is_read) {
  std::string lets = "a0 = 1";
  for (int i = 1; i < 60'000; ++i) lets += fmt::format(", a{} = \"a{}\"", i, i - 1);
  EXPECT_THAT(mistakes_in(with_lets(lets, "\"a59999 > 0\"")), ElementsAre(HasSubstr("has 60000 lets")));
}

TEST(Inlined, leaves_words_that_only_contain_a_name_and_texts) {
  const std::map<std::string, reading::Let> lets{{"a", {{{"1 + 2", {"f", 9, 5}}}}}};
  const auto text = [&](const char* formula) {
    return Formula::parse(reading::inlined(SourceText(formula, {"f", 1, 1}), lets)).text();
  };
  EXPECT_EQ(text("a"), "(1 + 2)");
  EXPECT_EQ(text("ab + a_ + a * a"), "ab + a_ + (1 + 2) * (1 + 2)");
  EXPECT_EQ(text("act == 'a'"), "act == 'a'");
}

class LetMistake : public testing::TestWithParam<Spoiled> {};

TEST_P(LetMistake, is_the_one_reported) { expect_mistake(GetParam()); }

constexpr const char* kSpace = "space = { block = [32, 64] }\n";

const Spoiled kSpoiledLetss[] = {
    {"unused", kSpace, "space = { block = [32, 64] }\nlet = { mini_mapped = 4 }\n", "mini_mapped = 4",
     "let 'mini_mapped' is used nowhere in implementation 'mapped'"},
    {"used_by_itself_alone", kSpace, "space = { block = [32, 64] }\nlet = { wide = \"block > 32\", w = \"wide\" }\n",
     "w = ", "let 'w' is used nowhere in implementation 'mapped'"},
    {"named_as_a_parameter", kSpace, "space = { block = [32, 64] }\nlet = { block = 4 }\n", "block = 4",
     "let 'block' clashes: there is a parameter of that name"},
    {"named_as_a_dim", kSpace, "space = { block = [32, 64] }\nlet = { rows = 4 }\n", "rows = 4",
     "let 'rows' clashes: there is a dim of that name"},
    {"named_as_a_function", kSpace, "space = { block = [32, 64] }\nlet = { min = 4 }\nconstraints = [\"min(1) > 0\"]\n",
     "min = 4", "let 'min' clashes: that is a function of formulas; choose another name"},
    {"no_table", kSpace, "space = { block = [32, 64] }\nlet = [\"a\"]\n", "[\"a\"]",
     "'let' in implementation 'mapped' must be a table, and is a list"},
    {"no_number", kSpace, "space = { block = [32, 64] }\nlet = { l = \"act\" }\nconstraints = [\"l > 0\"]\n", "act\" }",
     "'act' is text, where a number is needed in `act`"},
};

INSTANTIATE_TEST_SUITE_P(Definition, LetMistake, testing::ValuesIn(kSpoiledLetss), name_of);

}  // namespace
}  // namespace tilewright::test
