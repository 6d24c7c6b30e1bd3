// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/plan/combinations.hpp"

namespace tilewright {
namespace {

/// Adds the configs of one implementation.
void walk(const OpDefinition& definition, const Implementation& implementation, const Problem& problem,
          const DeviceFacts& device, Expansion& expansion) {
  SeenValues values;
  std::size_t size = 1;
  for (const Parameter& parameter : implementation.space) {
    values.push_back(parameter.values);
    size *= parameter.values.size();
  }
  expansion.total += size;
  // An implementation that the device cannot run needs no constraints.
  if (size > 0 && !device.supports(implementation.recipe.requires_arch)) {
    expansion.forbidden[fmt::format("needs {}", implementation.recipe.requires_arch)] += size;
    return;
  }
  walk_space(implementation.recipe, values, problem, device,
             {.allowed =
                  [&](const Config& config) {
                    // make_plan decides; it evaluates the constraints in order.
                    const auto plan = make_plan(definition.interface, implementation.recipe, config, problem, device);
                    if (const auto* illegal = std::get_if<Illegal>(&plan)) {
                      ++expansion.forbidden[illegal->rule];
                    } else {
                      expansion.legal.push_back({config, &implementation});
                    }
                  },
              .forbidden =
                  [&](const Formula& constraint, std::size_t count) {
                    expansion.forbidden[fmt::format("constraint `{}`", constraint.text())] += count;
                  }});
}

}  // namespace

Expansion expand(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device) {
  Expansion expansion;
  for (const Implementation& implementation : definition.implementations) {
    walk(definition, implementation, problem, device, expansion);
  }
  return expansion;
}

std::string refusals(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device) {
  std::string text =
      fmt::format("no config of {} can serve {} on {}:", definition.interface.op, problem.key(), device.fingerprint());
  for (const Implementation& implementation : definition.implementations) {
    Expansion expansion;
    walk(definition, implementation, problem, device, expansion);
    std::vector<std::pair<std::string, std::size_t>> rules(expansion.forbidden.begin(), expansion.forbidden.end());
    std::ranges::stable_sort(rules, std::ranges::greater(), &std::pair<std::string, std::size_t>::second);
    std::vector<std::string> told;
    for (const auto& [rule, count] : rules) told.push_back(fmt::format("{} ({} of {})", rule, count, expansion.total));
    text += fmt::format("\n  {}: {}", implementation.recipe.name, fmt::join(told, "; "));
  }
  return text;
}

std::string refusals(const OpDefinition& definition, const std::set<std::string>& configs, const Problem& problem,
                     const DeviceFacts& device) {
  std::string text;
  for (const std::string& config : configs) {
    const Candidate candidate = resolve_config(definition, Config::parse(config));
    const auto plan =
        make_plan(definition.interface, candidate.implementation->recipe, candidate.config, problem, device);
    const auto* illegal = std::get_if<Illegal>(&plan);
    if (illegal == nullptr) continue;
    text += fmt::format("{}{} cannot serve {}: {}", text.empty() ? "" : "\n", config, problem.key(), illegal->reason);
  }
  return text;
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
      throw UsageError(fmt::format("parameter '{}' appears twice in {}", name, config.text()));
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
