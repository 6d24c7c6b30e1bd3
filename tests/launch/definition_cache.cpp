// SPDX-License-Identifier: Apache-2.0
#include "tests/launch/definition_cache.hpp"

#include <stdexcept>

#include "cache/plan/plan.hpp"

namespace tilewright::testing {

namespace {

std::size_t bytes_of(const KernelParam& param, const OpInterface& interface) {
  if (param.kind == KernelParam::Kind::map) return 128;
  if (param.kind != KernelParam::Kind::scalar) return 8;
  for (const Argument& arg : interface.args) {
    if (arg.name == param.name) return size_of(arg.type_for(interface.dtypes.front()));
  }
  throw std::runtime_error("no argument " + param.name);
}

/// Steps the values like a counter; returns false after the last.
bool advance(const std::vector<Parameter>& space, std::vector<std::size_t>& at) {
  for (std::size_t i = space.size(); i-- > 0;) {
    if (++at[i] < space[i].values.size()) return true;
    at[i] = 0;
  }
  return false;
}

}  // namespace

void add_definition(SampleCache& cache, const OpDefinition& definition) {
  for (const Implementation& implementation : definition.implementations) {
    std::string lines;
    std::vector<KernelFacts> kernels;
    for (const KernelRecipe& kernel : implementation.recipe.kernels) {
      KernelFacts facts;
      facts.entry = facts.symbol = kernel.entry;
      kernels.push_back(facts);
      lines += kernel.entry;
      for (const KernelParam& param : kernel.params)
        lines += " " + std::to_string(bytes_of(param, definition.interface));
      lines += "\n";
    }
    cache.add_op(definition.interface, implementation.recipe, kernels, recorded_binary(lines));
  }
}

void add_first_legal(SampleCache& cache, const OpDefinition& definition, const std::string& problem,
                     const std::string& implementation, const DeviceFacts& device) {
  const Implementation& found = definition.implementation(implementation);
  const Problem parsed = parse_problem(problem, definition.interface);
  std::vector<std::size_t> at(found.space.size());
  do {
    Config config{implementation, {}};
    for (std::size_t i = 0; i < at.size(); ++i)
      config.values.emplace_back(found.space[i].name, found.space[i].values[at[i]]);
    const auto plan = make_plan(definition.interface, found.recipe, config, parsed, device);
    if (std::holds_alternative<LaunchPlan>(plan)) {
      cache.add_winner(definition.interface, problem, config.text(), {.device = device});
      return;
    }
  } while (advance(found.space, at));
  throw std::runtime_error("no config of " + implementation + " is legal for " + problem);
}

}  // namespace tilewright::testing
