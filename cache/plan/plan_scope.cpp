// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/plan_scope.hpp"

#include <fmt/format.h>

namespace tilewright {
namespace {

constexpr std::string_view kResidentBlocks = "resident_blocks";
constexpr std::string_view kMaxActiveClusters = "max_active_clusters";

}  // namespace

std::optional<Value> PlanScope::find(std::string_view name) const {
  if (std::optional<Value> value = problem_.find(name)) return value;
  if (const std::optional<std::int64_t> value = config_.find(name)) return *value;
  if (const std::optional<std::int64_t> value = device_.find(name)) return *value;
  return std::nullopt;
}

std::vector<std::string> PlanScope::names() const {
  std::vector<std::string> names = problem_.names();
  for (const auto& [parameter, value] : config_.values) names.push_back(parameter);
  names.insert(names.end(), DeviceFacts::names().begin(), DeviceFacts::names().end());
  return names;
}

std::optional<Value> GridScope::find(std::string_view name) const {
  if (name == kResidentBlocks) {
    const bool known = residency_ != nullptr && residency_->resident_blocks;
    return known ? residency_->resident_blocks(kernel_) : device_.sm_count;
  }
  if (name == kMaxActiveClusters) {
    const bool known = residency_ != nullptr && residency_->max_active_clusters;
    return known ? residency_->max_active_clusters(kernel_) : 1;
  }
  return plan_.find(name);
}

std::vector<std::string> GridScope::names() const {
  std::vector<std::string> names = plan_.names();
  names.emplace_back(kResidentBlocks);
  names.emplace_back(kMaxActiveClusters);
  return names;
}

}  // namespace tilewright
