// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cache/model/domain.hpp"
#include "tests/unit/kernels/built_in_op.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/nvrtc_library.hpp"
#include "tuner/compile/nvrtc_search.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/definition/shapes.hpp"

/// The spaces of all ops of the kernels folder: their sizes, and that legal configs compile. Compiles a sample
/// (`sample` below); with TILEWRIGHT_COMPILE_ALL=1, all configs.
namespace tilewright::spaces_test {
namespace {

/// The op's own grid for all dtypes, and the first and the last value of each attribute. With `odd_too`, each problem
/// is followed by one whose last dim is one more (or near it in the domain), since grids consist of powers of two.
std::vector<Problem> problems_of(const OpDefinition& definition, bool odd_too) {
  std::vector<OpSpec> specs;
  for (const DType dtype : definition.interface.dtypes) specs.push_back({definition.interface.op, dtype, {}});
  for (const Attribute& attribute : definition.interface.attributes) {
    std::vector<OpSpec> longer;
    for (const std::string& value : std::set{attribute.values.front(), attribute.values.back()}) {
      for (OpSpec spec : specs) {
        spec.attributes.emplace_back(attribute.name, value);
        longer.push_back(std::move(spec));
      }
    }
    specs = std::move(longer);
  }
  std::vector<Problem> problems;
  for (const OpSpec& spec : specs) {
    for (Problem& problem : default_shapes(definition, spec, false)) {
      problems.push_back(problem);
      if (!odd_too) continue;
      std::vector<std::int64_t> dims;
      for (const auto& [name, value] : problem.dims) dims.push_back(value);
      ++dims.back();
      const auto inside = dims_in_domain(spec, definition.interface, dims);
      if (!inside) continue;
      for (std::size_t i = 0; i < dims.size(); ++i) problem.dims[i].second = (*inside)[i];
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

/// A config to compile, with a problem that it serves on a device.
struct Choice {
  Problem problem;
  Candidate candidate;
  DeviceFacts device;
};

/// Calls `visit` for each problem, device and implementation that fit, with the legal configs.
template <class Visit>
void for_each_space(const OpDefinition& definition, const std::vector<std::pair<Problem, DeviceFacts>>& places,
                    Visit visit) {
  for (const auto& [problem, device] : places) {
    std::map<std::string, std::vector<Candidate>> by_implementation;
    for (Candidate& candidate : expand(definition, problem, device).legal) {
      by_implementation[candidate.config.implementation].push_back(std::move(candidate));
    }
    for (const auto& [implementation, legal] : by_implementation) visit(problem, device, legal);
  }
}

/// The traits whose pairs the sample must cover.
std::array<std::string, 4> traits_of(const Choice& choice) {
  return {choice.candidate.config.implementation, std::string(name(choice.problem.spec.dtype)), choice.device.arch(),
          choice.problem.dims.back().second % 2 == 0 ? "even" : "odd"};
}

/// A few configs of an op, the same on all machines. Draws 256 of the problems and devices, and for each a config of
/// each implementation. Takes the configs that add a new pair of: implementation, dtype, architecture, odd or even last
/// dim; first those that add many pairs, then few. So each pair drawn is compiled.
std::vector<Choice> sample(const OpDefinition& definition, std::vector<std::pair<Problem, DeviceFacts>> places) {
  std::mt19937 random(20240229);
  // std::shuffle and distributions differ between standard libraries.
  for (std::size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[random() % i]);
  places.erase(places.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(places.size(), 256)), places.end());
  std::vector<Choice> drawn;
  for_each_space(definition, places, [&](const Problem& problem, const DeviceFacts& device, const auto& legal) {
    drawn.push_back({problem, legal[random() % legal.size()], device});
  });
  std::vector<Choice> chosen;
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t wanted = 6; wanted > 0; --wanted) {
    for (const Choice& each : drawn) {
      const auto traits = traits_of(each);
      std::vector<std::pair<std::string, std::string>> fresh;
      for (std::size_t i = 0; i < traits.size(); ++i) {
        for (std::size_t j = i + 1; j < traits.size(); ++j) {
          if (!seen.contains({traits[i], traits[j]})) fresh.emplace_back(traits[i], traits[j]);
        }
      }
      if (fresh.size() < wanted) continue;
      seen.insert(fresh.begin(), fresh.end());
      chosen.push_back(each);
    }
  }
  return chosen;
}

std::vector<Choice> whole_set(const OpDefinition& definition,
                              const std::vector<std::pair<Problem, DeviceFacts>>& places) {
  std::vector<Choice> chosen;
  for_each_space(definition, places, [&](const Problem& problem, const DeviceFacts& device, const auto& legal) {
    for (const Candidate& candidate : legal) chosen.push_back({problem, candidate, device});
  });
  return chosen;
}

bool compiles_all() {
  const char* value = std::getenv("TILEWRIGHT_COMPILE_ALL");
  return value != nullptr && std::string(value) == "1";
}

class Spaces : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] const OpDefinition& definition() const { return definition_; }

 private:
  Catalogue catalogue_{{}, test_kernels_dir()};
  const OpDefinition& definition_ = catalogue_.find(GetParam());
};

/// The bound of a problem's configs. Ragged rows of f32 fit all skeletons at odd widths; with fewer columns a vector
/// there are more configs.
std::size_t most_configs(const Problem& problem) {
  if (problem.spec.op.ends_with("norm_bwd")) return 150;
  return problem.spec.dtype == DType::f32 ? 280 : 200;
}

TEST_P(Spaces, have_a_config_and_few_for_every_problem_of_the_ops_own_grid) {
  for (const Problem& problem : problems_of(definition(), true)) {
    const std::size_t legal = expand(definition(), problem, facts_of_an_h200()).legal.size();
    EXPECT_GE(legal, 1U) << problem.key();
    EXPECT_LT(legal, most_configs(problem)) << problem.key();
  }
}

TEST_P(Spaces, compile_for_the_architectures_that_their_configs_are_for) {
  if (NvrtcLibrary::find(nvrtc_search_places()) == nullptr) {
    GTEST_SKIP() << "NVRTC was not found: scripts/setup brings it";
  }
  std::vector<std::pair<Problem, DeviceFacts>> places;
  for (const DeviceFacts& device : {facts_of_an_h200(), facts_of_an_a100()}) {
    for (const Problem& problem : problems_of(definition(), true)) places.emplace_back(problem, device);
  }
  NvrtcCompiler compiler;
  // Problems that share a source share a binary.
  std::set<std::pair<std::string, std::string>> compiled;
  std::set<std::string> implementations;
  std::set<DType> dtypes;
  std::set<std::string> architectures;
  for (const Choice& each : compiles_all() ? whole_set(definition(), places) : sample(definition(), places)) {
    const Implementation& implementation = *each.candidate.implementation;
    const std::string arch = each.device.arch();
    implementations.insert(implementation.recipe.name);
    dtypes.insert(each.problem.spec.dtype);
    architectures.insert(arch);
    const auto plan =
        make_plan(definition().interface, implementation.recipe, each.candidate.config, each.problem, each.device);
    const GeneratedSource source =
        generate_source(definition(), implementation, each.candidate.config, each.problem, std::get<LaunchPlan>(plan));
    if (!compiled.emplace(arch, source.text).second) continue;
    const CompileResult result =
        compiler.compile({source.text, source.name, source.entries, arch, {test_kernels_dir()}, {}});
    EXPECT_TRUE(result.ok) << each.candidate.config.text() << " of " << each.problem.key() << " for " << arch << '\n'
                           << result.log;
  }
  RecordProperty("compiled", static_cast<int>(compiled.size()));
  EXPECT_EQ(implementations.size(), definition().implementations.size());
  EXPECT_EQ(dtypes.size(), definition().interface.dtypes.size());
  EXPECT_EQ(architectures, (std::set<std::string>{"sm_80", "sm_90a"}));
}

INSTANTIATE_TEST_SUITE_P(Ops, Spaces, ::testing::ValuesIn(Catalogue({}, test_kernels_dir()).names()),
                         [](const auto& op) { return op.param; });

}  // namespace
}  // namespace tilewright::spaces_test
