// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/learn.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cache/error.hpp"
#include "cache/losses.hpp"
#include "tuner/search/boosting.hpp"
#include "tuner/search/drawn_shapes.hpp"

namespace tilewright {
namespace {

/// Slowness, as a natural logarithm, over which the weight of a trial falls to 1/e.
constexpr double kInterest = 0.5;

FeatureSpace space_of(const std::vector<KnownShape>& known, std::size_t dims) {
  std::set<std::pair<std::string, std::string>> implementations;  // name and hash
  std::set<std::string> parameters;
  for (const KnownShape& shape : known) {
    for (const KnownConfig& each : shape.configs) {
      if (!each.was_timed()) continue;
      implementations.emplace(each.config.implementation, each.implementation_hash);
      for (const auto& value : each.config.values) parameters.insert(value.first);
    }
  }
  FeatureSpace space{{}, {parameters.begin(), parameters.end()}, dims};
  for (const auto& [name, hash] : implementations) space.implementations.push_back(hash);
  return space;
}

/// Those that were timed at a shape, but the base, each once, by text and hash of the implementation.
std::map<std::pair<std::string, std::string>, const KnownConfig*> timed_at(const KnownShape& shape) {
  std::map<std::pair<std::string, std::string>, const KnownConfig*> timed;
  for (const KnownConfig& each : shape.configs) {
    if (!each.was_timed() || each.role == WinnerRole::base) continue;
    timed.emplace(std::pair(each.config.text(), each.implementation_hash), &each);
  }
  return timed;
}

/// Those that were timed and may be thought of elsewhere.
std::vector<LossModel::Known> configs_of(const std::vector<KnownShape>& known, const FeatureSpace& space) {
  ByConfig<bool> refused;
  for (const KnownShape& shape : known) {
    for (const KnownConfig& each : shape.configs) {
      if (each.role == WinnerRole::base || each.has_failed) refused.emplace(identity(each), true);
    }
  }
  std::map<std::pair<std::size_t, std::string>, Config> found;
  for (const KnownShape& shape : known) {
    for (const KnownConfig& each : shape.configs) {
      if (!each.was_timed() || refused.contains(identity(each))) continue;
      const auto place = std::ranges::find(space.implementations, each.implementation_hash);
      found.emplace(std::pair(static_cast<std::size_t>(place - space.implementations.begin()), each.config.text()),
                    each.config);
    }
  }
  std::vector<LossModel::Known> configs;
  for (auto& [key, config] : found) configs.push_back({key.first, std::move(config)});
  return configs;
}

}  // namespace

std::optional<LossModel> learn(const OpInterface& interface, const OpSpec& spec, const DeviceFacts& device,
                               const std::vector<KnownShape>& known, const RecipeOf& recipe_of) {
  if (known.size() < kFewestShapesToLearn) return std::nullopt;
  LossModel::Parts parts;
  parts.space = space_of(known, interface.dims.size());
  parts.shapes = known.size();
  // More numbers than nodes have room for: no op of ours is near it.
  if (parts.space.count() >= LossModel::kLeaf) return std::nullopt;
  BoostingRows rows{.features = parts.space.count()};
  // In an order of their own, so that a cache that was filled in another one teaches the same.
  std::vector<const KnownShape*> shapes;
  for (const KnownShape& shape : known) shapes.push_back(&shape);
  std::ranges::sort(shapes, {}, &KnownShape::dims);
  for (std::size_t at = 0; at < shapes.size(); ++at) {
    const KnownShape& shape = *shapes[at];
    const Problem problem = problem_of(interface, spec, shape.dims);
    const Losses losses = losses_at(shape);
    for (const auto& [key, config] : timed_at(shape)) {
      const std::string& hash = key.second;
      const ImplementationRecipe& recipe = recipe_of(hash);
      if (recipe.kernels.empty()) continue;
      const auto features = parts.space.of(interface, hash, recipe, config->config, problem, device);
      if (!features) continue;
      const double loss = std::min(kMostLoss, losses.at(identity(*config)));
      rows.values.insert(rows.values.end(), features->begin(), features->end());
      rows.targets.push_back(static_cast<float>(loss));
      rows.weights.push_back(static_cast<float>(std::exp(-loss / kInterest)));
      rows.groups.push_back(at);
    }
  }
  if (rows.count() < std::max(kFewestTrialsToLearn, kFewestTrialsEach * known.size())) return std::nullopt;
  parts.configs = configs_of(known, parts.space);
  boost(rows, {}, parts);
  return LossModel(std::move(parts));
}

std::optional<LossModel> learn(const WinnerSource& source, const OpInterface& interface, const OpSpec& spec,
                               const DeviceFacts& device, MeasureMode mode) {
  const ProblemKey key{problem_of(interface, spec, ShapeDims(interface.dims.size(), 1)), interface.hash(),
                       device.fingerprint()};
  return learn(interface, spec, device, source.known_shapes(key, mode, source.tuned_shapes(key, mode)),
               recipes_of(source));
}

}  // namespace tilewright
