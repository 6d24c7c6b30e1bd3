// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "cache/error.hpp"
#include "cache/plan_scope.hpp"

namespace tilewright {
namespace {

/// Walks the configs of one implementation, parameter by parameter. A constraint is judged as soon as its parameters have
/// values, so that one that is false cuts off all configs which begin alike; make_plan has the last word on those left.
class Walk {
 public:
  Walk(const OpDefinition& definition, const Implementation& implementation, const Problem& problem,
       const DeviceFacts& device, Expansion& expansion)
      : definition_(definition),
        implementation_(implementation),
        problem_(problem),
        device_(device),
        expansion_(expansion),
        scope_(problem, config_, device),
        decided_(implementation.space.size() + 1),
        below_(implementation.space.size() + 1, 1) {
    config_.implementation = implementation.recipe.name;
    for (std::size_t i = implementation.space.size(); i-- > 0;) {
      below_[i] = below_[i + 1] * implementation.space[i].values.size();
    }
    for (const Formula& constraint : implementation.recipe.constraints) {
      decided_[depth_of(constraint)].push_back(&constraint);
    }
  }

  void run() {
    expansion_.total += below_[0];
    // What the device cannot run at all needs no constraint to say so.
    if (device_.supports(implementation_.recipe.requires_arch) || below_[0] == 0) {
      visit(0);
    } else {
      expansion_.forbidden[fmt::format("needs {}", implementation_.recipe.requires_arch)] += below_[0];
    }
  }

 private:
  /// How many parameters must have values before the constraint can be judged.
  [[nodiscard]] std::size_t depth_of(const Formula& constraint) const {
    std::size_t depth = 0;
    for (const std::string& name : constraint.names()) {
      const auto parameter = std::ranges::find(implementation_.space, name, &Parameter::name);
      if (parameter == implementation_.space.end()) continue;
      depth = std::max(depth, static_cast<std::size_t>(parameter - implementation_.space.begin()) + 1);
    }
    return depth;
  }

  /// The first constraint that is false now, or null. One that cannot be evaluated may rely on another that is judged
  /// later: make_plan, which takes them in order, will tell.
  [[nodiscard]] const Formula* broken(std::size_t depth) const {
    for (const Formula* constraint : decided_[depth]) {
      try {
        if (!constraint->truth(scope_)) return constraint;
      } catch (const DefinitionError&) {
        continue;
      }
    }
    return nullptr;
  }

  void visit(std::size_t depth) {
    if (const Formula* constraint = broken(depth)) {
      expansion_.forbidden[fmt::format("constraint `{}`", constraint->text())] += below_[depth];
      return;
    }
    if (depth == implementation_.space.size()) return judge();
    const Parameter& parameter = implementation_.space[depth];
    config_.values.emplace_back(parameter.name, 0);
    for (const std::int64_t value : parameter.values) {
      config_.values.back().second = value;
      visit(depth + 1);
    }
    config_.values.pop_back();
  }

  void judge() {
    const auto plan = make_plan(definition_.interface, implementation_.recipe, config_, problem_, device_);
    if (const auto* illegal = std::get_if<Illegal>(&plan)) {
      ++expansion_.forbidden[illegal->rule];
    } else {
      expansion_.legal.push_back({config_, &implementation_});
    }
  }

  const OpDefinition& definition_;
  const Implementation& implementation_;
  const Problem& problem_;
  const DeviceFacts& device_;
  Expansion& expansion_;
  Config config_;
  PlanScope scope_;
  /// By depth, in the definition's order: the constraints that can be judged there and not before.
  std::vector<std::vector<const Formula*>> decided_;
  /// By depth, how many configs begin with the same values so far.
  std::vector<std::size_t> below_;
};

}  // namespace

Expansion expand(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device) {
  Expansion expansion;
  for (const Implementation& implementation : definition.implementations) {
    Walk(definition, implementation, problem, device, expansion).run();
  }
  return expansion;
}

std::string refusals(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device) {
  std::string text =
      fmt::format("no config of {} can serve {} on {}:", definition.interface.op, problem.key(), device.fingerprint());
  for (const Implementation& implementation : definition.implementations) {
    Expansion expansion;
    Walk(definition, implementation, problem, device, expansion).run();
    std::vector<std::pair<std::string, std::size_t>> rules(expansion.forbidden.begin(), expansion.forbidden.end());
    std::ranges::stable_sort(rules, std::ranges::greater(), &std::pair<std::string, std::size_t>::second);
    std::vector<std::string> told;
    for (const auto& [rule, count] : rules) told.push_back(fmt::format("{} ({} of {})", rule, count, expansion.total));
    text += fmt::format("\n  {}: {}", implementation.recipe.name, fmt::join(told, "; "));
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
