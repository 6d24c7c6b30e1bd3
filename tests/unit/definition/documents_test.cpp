// SPDX-License-Identifier: Apache-2.0
// Checks the claims of docs/spaces.md about a space against its definition.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <regex>

#include "cache/plan/plan_scope.hpp"
#include "tests/unit/definition/helpers.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/definition/reading/device_code.hpp"
#include "tuner/definition/space.hpp"

namespace tilewright::test {
namespace {

/// The formulas of the table's first column and the numbers of its second.
struct Table {
  std::vector<std::string> formulas;
  std::vector<std::size_t> left;
};

Table table_of(const std::string& document) {
  static const std::regex kRow(R"(\n\| `([^`]+)` \| ([0-9,]+) \|)");
  Table table;
  for (std::sregex_iterator row(document.begin(), document.end(), kRow), end; row != end; ++row) {
    std::string number = (*row)[2];
    std::erase(number, ',');
    table.formulas.push_back((*row)[1]);
    table.left.push_back(std::stoul(number));
  }
  return table;
}

std::vector<Config> all_configs(const Implementation& implementation) {
  std::vector<Config> configs = {{implementation.recipe.name, {}}};
  for (const Parameter& parameter : implementation.space) {
    std::vector<Config> longer;
    for (const Config& config : configs) {
      for (const std::int64_t value : parameter.values) {
        longer.push_back(config);
        longer.back().values.emplace_back(parameter.name, value);
      }
    }
    configs = std::move(longer);
  }
  return configs;
}

TEST(SpacesDocument, counts_what_each_constraint_leaves) {
  Catalogue catalogue({}, kernels_source_dir());
  const OpDefinition& rmsnorm = catalogue.find("rmsnorm");
  const Problem problem = parse_problem("rmsnorm[dtype=bf16]{rows=4096,cols=4096}", rmsnorm.interface);
  const Implementation& onchip = rmsnorm.implementations.front();
  ASSERT_EQ(onchip.recipe.name, "onchip");
  DeviceFacts device = emulator_facts();
  device.compute_capability = 90;

  std::vector<Config> configs = all_configs(onchip);
  const std::size_t total = configs.size();
  std::vector<std::size_t> left;
  for (const Formula& constraint : onchip.recipe.constraints) {
    std::erase_if(configs, [&](const Config& config) { return !constraint.truth(PlanScope(problem, config, device)); });
    left.push_back(configs.size());
  }
  const Expansion expansion = expand(rmsnorm, problem, device);
  const auto legal = std::count_if(expansion.legal.begin(), expansion.legal.end(),
                                   [](const Candidate& each) { return each.config.implementation == "onchip"; });
  EXPECT_EQ(static_cast<std::size_t>(legal), left.back());

  const std::string document = reading::read_file(examples_dir().parent_path() / "spaces.md");
  const Table table = table_of(document);
  EXPECT_EQ(table.left, left);
  std::string prose = std::regex_replace(document, std::regex("\\n *"), " ");
  std::erase(prose, ',');
  EXPECT_THAT(prose, testing::HasSubstr(fmt::format("{} configs before constraints", total)));
  EXPECT_THAT(prose, testing::HasSubstr(fmt::format("{} in all", expansion.legal.size())));

  // In the fragment's words and order.
  const std::string fragment = reading::read_file(kernels_source_dir() / "device/row/onchip.toml");
  std::size_t place = 0;
  for (const std::string& formula : table.formulas) {
    place = fragment.find('"' + formula + '"', place);
    ASSERT_NE(place, std::string::npos) << formula;
  }
}

TEST(SpacesDocument, shows_the_example_as_it_is) {
  const std::string document = reading::read_file(examples_dir().parent_path() / "spaces.md");
  const std::string example = reading::read_file(examples_dir() / "l2norm/l2norm.toml");
  const std::size_t begin = document.find("```toml\n[[implementation]]\n");
  ASSERT_NE(begin, std::string::npos);
  const std::size_t text = begin + std::string("```toml\n").size();
  EXPECT_THAT(example, testing::HasSubstr(document.substr(text, document.find("```", text) - text)));
}

}  // namespace
}  // namespace tilewright::test
