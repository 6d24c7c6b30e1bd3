// SPDX-License-Identifier: Apache-2.0
#include "cache/predict/model_predictor.hpp"

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/plan/combinations.hpp"

namespace tilewright {

ModelPredictor::ModelPredictor(const LossModel& model, const OpInterface& interface, const Problem& problem,
                               const DeviceFacts& device, RecipeOf recipe_of)
    : model_(model), interface_(interface), problem_(problem), device_(device), recipe_of_(std::move(recipe_of)) {}

std::vector<std::optional<double>> ModelPredictor::losses(std::span<const ConfigId* const> configs) const {
  struct Implementation {
    const ImplementationRecipe& recipe;
    Constraints constraints;
  };
  std::unordered_map<std::string_view, Implementation> implementations;
  const auto implementation_of = [&](const std::string& hash) -> Implementation& {
    const auto known = implementations.find(hash);
    if (known != implementations.end()) return known->second;
    const ImplementationRecipe& recipe = recipe_of_(hash);
    return implementations.emplace(hash, Implementation{recipe, Constraints(recipe, problem_, device_)}).first->second;
  };
  std::vector<std::optional<double>> losses(configs.size());
  std::vector<float> features;  // of the judged configs, one after the other
  std::vector<std::size_t> judged;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const auto& [hash, config] = *configs[i];
    try {
      auto& [recipe, constraints] = implementation_of(hash);
      if (!constraints.allow(config)) continue;
      const auto own = model_.space().of(interface_, hash, recipe, config, problem_, device_);
      if (!own) continue;
      features.insert(features.end(), own->begin(), own->end());
      judged.push_back(i);
    } catch (const CacheError& error) {
      // Another try may succeed. An implementation that is gone or damaged excludes only its own configs.
      if (error.kind() == CacheFault::locked || error.kind() == CacheFault::denied) throw;
    } catch (const UsageError&) {
      continue;  // a formula without a value here excludes only this config
    }
  }
  const std::vector<double> expected = model_.losses(features);
  for (std::size_t i = 0; i < judged.size(); ++i) losses[judged[i]] = expected[i];
  return losses;
}

}  // namespace tilewright
