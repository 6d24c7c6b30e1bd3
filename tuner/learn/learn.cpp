// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/learn.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/predict/losses.hpp"
#include "tuner/learn/boosting.hpp"
#include "tuner/learn/drawn_shapes.hpp"

namespace tilewright {
namespace {

/// The loss at which a trial's weight has fallen to 1/e.
constexpr double kInterest = 0.5;

using Specs = std::vector<const SpecSummary*>;

void for_each_config(const Specs& known, const std::function<void(const ConfigSummary&)>& visit) {
  for (const SpecSummary* const spec : known) {
    for (const ShapeSummary& shape : spec->shapes) std::ranges::for_each(shape.configs, visit);
  }
}

/// The attributes in which the specs differ, and "dtype" if they differ in it.
std::vector<std::string> differing(const Specs& known) {
  std::vector<std::string> names;
  if (known.empty()) return names;
  const OpSpec& first = known.front()->spec;
  const auto differ = [&](const auto& value_of) {
    return std::ranges::any_of(known, [&](const SpecSummary* each) { return value_of(each->spec) != value_of(first); });
  };
  if (differ([](const OpSpec& spec) { return spec.dtype; })) names.emplace_back("dtype");
  for (std::size_t i = 0; i < first.attributes.size(); ++i) {
    if (differ([&](const OpSpec& spec) { return spec.attributes.at(i).second; })) {
      names.push_back(first.attributes[i].first);
    }
  }
  return names;
}

/// The features of the teaching specs `known`, with the implementations of all: the model serves all specs, and must
/// rank their winners, too.
FeatureSpace space_of(const Specs& known, const Specs& all, std::size_t dims, const RecipeOf& recipe_of) {
  std::set<std::pair<std::string, std::string>> implementations;  // name and hash
  std::set<std::string> parameters;
  for_each_config(all, [&](const ConfigSummary& each) {
    if (each.was_timed()) implementations.emplace(each.id.config.implementation, each.id.implementation_hash);
  });
  for_each_config(known, [&](const ConfigSummary& each) {
    if (!each.was_timed()) return;
    for (const auto& value : each.id.config.values) parameters.insert(value.first);
  });
  FeatureSpace space{{}, {parameters.begin(), parameters.end()}, dims, differing(known)};
  for (const auto& [name, hash] : implementations) {
    space.implementations.push_back(hash);
    space.kernels = std::max(space.kernels, recipe_of(hash).kernels.size());
  }
  return space;
}

/// The configs timed at a shape, by text and implementation hash. The base is among them: it may be the best of a small
/// shape.
std::map<std::pair<std::string, std::string>, const ConfigSummary*> timed_at(const ShapeSummary& shape) {
  std::map<std::pair<std::string, std::string>, const ConfigSummary*> timed;
  for (const ConfigSummary& each : shape.configs) {
    if (!each.was_timed()) continue;
    timed.emplace(std::pair(each.id.config.text(), each.id.implementation_hash), &each);
  }
  return timed;
}

/// The configs that the model may propose: timed in a teaching spec, and neither a base nor failed in any spec.
std::vector<LossModel::Known> configs_of(const Specs& known, const Specs& all, const FeatureSpace& space) {
  ByConfig<bool> refused;
  for_each_config(all, [&](const ConfigSummary& each) {
    if (each.role == WinnerRole::base || each.has_failed) refused.emplace(each.id, true);
  });
  std::map<std::pair<std::size_t, std::string>, Config> found;
  for_each_config(known, [&](const ConfigSummary& each) {
    if (!each.was_timed() || refused.contains(each.id)) return;
    const auto place = std::ranges::find(space.implementations, each.id.implementation_hash);
    found.emplace(std::pair(static_cast<std::size_t>(place - space.implementations.begin()), each.id.config.text()),
                  each.id.config);
  });
  std::vector<LossModel::Known> configs;
  for (auto& [key, config] : found) configs.push_back({key.first, std::move(config)});
  return configs;
}

/// The specs with enough trials of configs that can be planned today.
Specs teaching(const OpInterface& interface, const DeviceFacts& device, const Specs& all, const RecipeOf& recipe_of) {
  const auto is_row = [&](const ConfigSummary& each, const Problem& problem) {
    const ImplementationRecipe& recipe = recipe_of(each.id.implementation_hash);
    const FeatureSpace any{{each.id.implementation_hash}, {}, interface.dims.size()};
    return !recipe.kernels.empty() &&
           any.of(interface, each.id.implementation_hash, recipe, each.id.config, problem, device).has_value();
  };
  Specs specs;
  for (const SpecSummary* const spec : all) {
    std::size_t missing = kFewestTrialsEach * spec->shapes.size();
    for (const ShapeSummary& shape : spec->shapes) {
      if (missing == 0) break;
      const Problem problem = problem_of(interface, spec->spec, shape.dims);
      for (const auto& [key, config] : timed_at(shape)) {
        if (missing > 0 && is_row(*config, problem)) --missing;
      }
    }
    if (missing == 0) specs.push_back(spec);
  }
  return specs;
}

/// The shapes of a spec, sorted, so that the order in which a cache was filled does not matter.
std::vector<const ShapeSummary*> in_order(const SpecSummary& spec) {
  std::vector<const ShapeSummary*> shapes;
  for (const ShapeSummary& shape : spec.shapes) shapes.push_back(&shape);
  std::ranges::sort(shapes, {}, &ShapeSummary::dims);
  return shapes;
}

}  // namespace

std::optional<LossModel> learn(const OpInterface& interface, const DeviceFacts& device,
                               const std::vector<SpecSummary>& specs, const RecipeOf& recipe_of,
                               const std::vector<SpecSummary>& lessons) {
  Specs all;
  for (const SpecSummary& spec : specs) all.push_back(&spec);
  const Specs own = teaching(interface, device, all, recipe_of);
  Specs known = own;
  for (const SpecSummary& lesson : lessons) known.push_back(&lesson);
  LossModel::Contents parts;
  for (const SpecSummary* const spec : known) parts.shapes += spec->shapes.size();
  if (parts.shapes < kFewestShapesToLearn) return std::nullopt;
  parts.space = space_of(known, all, interface.dims.size(), recipe_of);
  // More features than a node's byte can number; no shipped op comes near.
  if (parts.space.count() >= LossModel::kLeaf) return std::nullopt;
  BoostingRows rows{.features = parts.space.count()};
  std::size_t group = 0;
  for (const SpecSummary* const spec : known) {
    for (const ShapeSummary* const shape : in_order(*spec)) {
      const Problem problem = problem_of(interface, spec->spec, shape->dims);
      const Losses losses = losses_at(*shape);
      for (const auto& [key, config] : timed_at(*shape)) {
        const std::string& hash = key.second;
        const ImplementationRecipe& recipe = recipe_of(hash);
        if (recipe.kernels.empty()) continue;
        const auto features = parts.space.of(interface, hash, recipe, config->id.config, problem, device);
        if (!features) continue;
        const double loss = std::min(kMostLoss, losses.at(config->id));
        rows.values.insert(rows.values.end(), features->begin(), features->end());
        rows.targets.push_back(static_cast<float>(loss));
        rows.weights.push_back(static_cast<float>(std::exp(-loss / kInterest)));
        rows.groups.push_back(group);
      }
      ++group;
    }
  }
  if (rows.count() < kFewestTrialsToLearn) return std::nullopt;
  parts.configs = configs_of(own, all, parts.space);
  boost(rows, {}, parts);
  return LossModel(std::move(parts));
}

std::optional<LossModel> learn(const Store& store, const OpInterface& interface, const DeviceFacts& device,
                               MeasureMode mode, const Lessons& lessons) {
  return learn(interface, device, known_specs(store, interface, device, mode), recipes_of(store),
               lessons_of(store, interface, device, mode, lessons));
}

}  // namespace tilewright
