// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cache/error.hpp"

namespace tilewright {
namespace {

/// Steps to the next config, the last parameter fastest; false after the last one.
bool advance(const std::vector<Parameter>& space, std::vector<std::size_t>& at) {
  for (std::size_t i = space.size(); i-- > 0;) {
    if (++at[i] < space[i].values.size()) return true;
    at[i] = 0;
  }
  return false;
}

void expand_one(const OpDefinition& definition, const Implementation& implementation, const Problem& problem,
                const DeviceFacts& device, Expansion& expansion) {
  const std::vector<Parameter>& space = implementation.space;
  std::vector<std::size_t> at(space.size(), 0);
  do {
    ++expansion.total;
    Config config{implementation.recipe.name, {}};
    config.values.reserve(space.size());
    for (std::size_t i = 0; i < space.size(); ++i) config.values.emplace_back(space[i].name, space[i].values[at[i]]);
    const auto plan = make_plan(definition.interface, implementation.recipe, config, problem, device);
    if (const auto* illegal = std::get_if<Illegal>(&plan)) {
      ++expansion.forbidden[illegal->rule];
    } else {
      expansion.legal.push_back({std::move(config), &implementation});
    }
  } while (advance(space, at));
}

}  // namespace

Expansion expand(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device) {
  Expansion expansion;
  for (const Implementation& implementation : definition.implementations) {
    expand_one(definition, implementation, problem, device, expansion);
  }
  return expansion;
}

Candidate resolve_config(const OpDefinition& definition, const Config& config) {
  const Implementation& implementation = definition.implementation(config.implementation);
  const std::vector<std::string>& known = implementation.recipe.parameters;
  for (std::size_t i = 0; i < config.values.size(); ++i) {
    const std::string& name = config.values[i].first;
    if (std::ranges::find(known, name) == known.end()) {
      throw UsageError(fmt::format("{} has no parameter '{}'{}", config.implementation, name, suggestion(name, known)));
    }
    const auto is_same = [&](const auto& value) { return value.first == name; };
    if (std::ranges::count_if(config.values, is_same) > 1) {
      throw UsageError(fmt::format("parameter '{}' is there twice in {}", name, config.text()));
    }
  }
  Candidate candidate{{config.implementation, {}}, &implementation};
  for (const Parameter& parameter : implementation.space) {
    const auto is_it = [&](const auto& value) { return value.first == parameter.name; };
    const auto given = std::ranges::find_if(config.values, is_it);
    if (given == config.values.end()) {
      throw UsageError(fmt::format("{} has no value for '{}'; its values: {}", config.text(), parameter.name,
                                   fmt::join(parameter.values, ", ")));
    }
    if (std::ranges::find(parameter.values, given->second) == parameter.values.end()) {
      throw UsageError(fmt::format("{}={} is not in the space of {}; its values: {}", parameter.name, given->second,
                                   config.implementation, fmt::join(parameter.values, ", ")));
    }
    candidate.config.values.push_back(*given);
  }
  return candidate;
}

}  // namespace tilewright
