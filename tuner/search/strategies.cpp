// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/predict/features.hpp"
#include "tuner/search/strategy.hpp"

namespace tilewright {
namespace {

using Maker = std::unique_ptr<Strategy> (*)(const SearchSpace&);

constexpr std::pair<const char*, Maker> kMakers[] = {
    {"exhaustive", exhaustive}, {"race", race}, {"random", random_order}, {"local", local}, {"model", model}};

}  // namespace

const std::vector<std::string>& strategy_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& [name, maker] : kMakers) names.emplace_back(name);
    return names;
  }();
  return kNames;
}

bool follows_neighbours(const std::string& name) { return name == "local" || name == "model"; }

std::unique_ptr<Strategy> make_strategy(const std::string& name, const SearchSpace& space) {
  for (const auto& [known, maker] : kMakers) {
    if (name == known) return maker(space);
  }
  const std::string near = nearest_name(name, strategy_names());
  throw UsageError(fmt::format("there is no strategy '{}'{}; there are exhaustive, race, random, local and model", name,
                               near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

Idle idle_of(OpInterface interface, std::vector<ImplementationRecipe> recipes, DeviceFacts device) {
  return [interface = std::move(interface), recipes = std::move(recipes), device = std::move(device)](
             const Config& config, const Problem& problem) {
    const auto recipe = std::ranges::find(recipes, config.implementation, &ImplementationRecipe::name);
    if (recipe == recipes.end()) return 0.0;
    try {
      return log_idle(interface, *recipe, config, problem, device);
    } catch (const Error&) {
      return 0.0;  // a config of an older source may lack names of the formulas
    }
  };
}

}  // namespace tilewright
