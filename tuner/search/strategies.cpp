// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <functional>
#include <utility>

#include "cache/base/error.hpp"
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

}  // namespace tilewright
