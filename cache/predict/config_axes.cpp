// SPDX-License-Identifier: Apache-2.0
#include "cache/predict/config_axes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tilewright {
namespace {

// Two implementations differ in two axes.
const float kOfAnImplementation = 0.5F / std::sqrt(2.0F);

}  // namespace

void ConfigAxes::add(const std::string& implementation, const Config& config) {
  add(implementation);
  for (const auto& [parameter, value] : config.values) add(parameter);
}

void ConfigAxes::add(const std::string& name) {
  const auto place = std::ranges::lower_bound(names_, name);
  if (place == names_.end() || *place != name) names_.insert(place, name);
}

std::size_t ConfigAxes::find(const std::string& name) const {
  const auto place = std::ranges::lower_bound(names_, name);
  return place != names_.end() && *place == name ? static_cast<std::size_t>(place - names_.begin()) : names_.size();
}

std::vector<float> ConfigAxes::place_of(const std::string& implementation, const Config& config) const {
  std::vector<float> place(names_.size() + 1, 0);
  place[find(implementation)] = kOfAnImplementation;
  for (const auto& [parameter, value] : config.values) {
    place[find(parameter)] = std::log2(1 + static_cast<float>(std::max<std::int64_t>(value, 0)));
  }
  // Drops the axis of names that were not added.
  place.pop_back();
  return place;
}

}  // namespace tilewright
