// SPDX-License-Identifier: Apache-2.0
#include "cache/combinations.hpp"

#include <algorithm>
#include <string>

#include "cache/error.hpp"
#include "cache/plan_scope.hpp"

namespace tilewright {
namespace {

/// Parameter by parameter. A constraint is judged as soon as its parameters have values, so that one that is false cuts off
/// all that begins alike.
class Combining {
 public:
  Combining(const ImplementationRecipe& recipe, const SeenValues& seen, const Problem& problem,
            const DeviceFacts& device)
      : recipe_(recipe), seen_(seen), scope_(problem, config_, device), decided_(recipe.parameters.size() + 1) {
    config_.implementation = recipe.name;
    for (const Formula& constraint : recipe.constraints) decided_[depth_of(constraint)].push_back(&constraint);
  }

  std::vector<Config> run() {
    visit(0);
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::size_t depth_of(const Formula& constraint) const {
    std::size_t depth = 0;
    for (const std::string& name : constraint.names()) {
      const auto parameter = std::ranges::find(recipe_.parameters, name);
      if (parameter == recipe_.parameters.end()) continue;
      depth = std::max(depth, static_cast<std::size_t>(parameter - recipe_.parameters.begin()) + 1);
    }
    return depth;
  }

  /// One that cannot be evaluated may rely on another that is judged later.
  [[nodiscard]] bool is_broken(std::size_t depth) const {
    return std::ranges::any_of(decided_[depth], [&](const Formula* constraint) {
      try {
        return !constraint->truth(scope_);
      } catch (const DefinitionError&) {
        return false;
      }
    });
  }

  void visit(std::size_t depth) {
    if (is_broken(depth)) return;
    if (depth == recipe_.parameters.size()) return found_.push_back(config_);
    config_.values.emplace_back(recipe_.parameters[depth], 0);
    for (const std::int64_t value : seen_[depth]) {
      config_.values.back().second = value;
      visit(depth + 1);
    }
    config_.values.pop_back();
  }

  const ImplementationRecipe& recipe_;
  const SeenValues& seen_;
  Config config_;
  PlanScope scope_;
  /// By depth: the constraints that can be judged there and not before.
  std::vector<std::vector<const Formula*>> decided_;
  std::vector<Config> found_;
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
  const PlanScope scope(problem, config, device);
  return device.supports(recipe.requires_arch) &&
         std::ranges::all_of(recipe.constraints, [&](const Formula& constraint) { return constraint.truth(scope); });
}

std::vector<Config> combinations(const ImplementationRecipe& recipe, const SeenValues& seen, const Problem& problem,
                                 const DeviceFacts& device) {
  if (seen.size() != recipe.parameters.size() || !device.supports(recipe.requires_arch)) return {};
  return Combining(recipe, seen, problem, device).run();
}

}  // namespace tilewright
