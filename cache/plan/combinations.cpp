// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/combinations.hpp"

#include <algorithm>
#include <string>

#include "cache/base/error.hpp"
#include "cache/plan/plan_scope.hpp"

namespace tilewright {
namespace {

class Walk {
 public:
  Walk(const ImplementationRecipe& recipe, const SeenValues& values, const Problem& problem, const DeviceFacts& device,
       const SpaceVisitor& visitor)
      : recipe_(recipe),
        values_(values),
        visitor_(visitor),
        scope_(problem, config_, device),
        decided_(values.size() + 1),
        below_(values.size() + 1, 1) {
    config_.implementation = recipe.name;
    for (std::size_t i = values.size(); i-- > 0;) below_[i] = below_[i + 1] * values[i].size();
    for (const Formula& constraint : recipe.constraints) decided_[depth_of(constraint)].push_back(&constraint);
  }

  void visit(std::size_t depth) {
    if (const Formula* constraint = broken(depth)) {
      if (visitor_.forbidden) visitor_.forbidden(*constraint, below_[depth]);
      return;
    }
    if (depth == values_.size()) return visitor_.allowed(config_);
    config_.values.emplace_back(recipe_.parameters[depth], 0);
    for (const std::int64_t value : values_[depth]) {
      config_.values.back().second = value;
      visit(depth + 1);
    }
    config_.values.pop_back();
  }

 private:
  /// The number of parameters that must have values before the constraint can be evaluated.
  [[nodiscard]] std::size_t depth_of(const Formula& constraint) const {
    std::size_t depth = 0;
    for (const std::string& name : constraint.names()) {
      const auto parameter = std::ranges::find(recipe_.parameters, name);
      if (parameter == recipe_.parameters.end()) continue;
      depth = std::max(depth, static_cast<std::size_t>(parameter - recipe_.parameters.begin()) + 1);
    }
    return depth;
  }

  /// The first constraint that is false at this depth, or null.
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

  const ImplementationRecipe& recipe_;
  const SeenValues& values_;
  const SpaceVisitor& visitor_;
  Config config_;
  PlanScope scope_;
  /// By depth, in the recipe's order: the constraints that can be evaluated there and not before.
  std::vector<std::vector<const Formula*>> decided_;
  /// By depth: the number of configs that begin with the same values.
  std::vector<std::size_t> below_;
};

}  // namespace

void see(const ImplementationRecipe& recipe, const Config& config, SeenValues& seen) {
  seen.resize(recipe.parameters.size());
  if (config.implementation != recipe.name) return;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto value = config.find(recipe.parameters[i]);
    if (value && std::ranges::find(seen[i], *value) == seen[i].end()) seen[i].push_back(*value);
  }
}

bool allowed(const ImplementationRecipe& recipe, const Config& config, const Problem& problem,
             const DeviceFacts& device) {
  return Constraints(recipe, problem, device).allow(config);
}

Constraints::Constraints(const ImplementationRecipe& recipe, const Problem& problem, const DeviceFacts& device)
    : problem_(problem), device_(device), is_supported_(device.supports(recipe.requires_arch)) {
  for (const Formula& constraint : recipe.constraints) constraints_.push_back(&constraint);
}

bool Constraints::allow(const Config& config) {
  if (!is_supported_) return false;
  const PlanScope scope(problem_, config, device_);
  const auto broken = std::ranges::find_if(constraints_, [&](const Formula* each) { return !each->truth(scope); });
  if (broken == constraints_.end()) return true;
  std::rotate(constraints_.begin(), broken, broken + 1);
  return false;
}

void walk_space(const ImplementationRecipe& recipe, const SeenValues& values, const Problem& problem,
                const DeviceFacts& device, const SpaceVisitor& visitor) {
  Walk(recipe, values, problem, device, visitor).visit(0);
}

std::vector<Config> combinations(const ImplementationRecipe& recipe, const SeenValues& seen, const Problem& problem,
                                 const DeviceFacts& device) {
  std::vector<Config> found;
  if (seen.size() != recipe.parameters.size() || !device.supports(recipe.requires_arch)) return found;
  walk_space(recipe, seen, problem, device, {[&](const Config& config) { found.push_back(config); }});
  return found;
}

}  // namespace tilewright
