// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/plan/plan.hpp"

/// The names that launch formulas see. Scopes keep references to their arguments. For one thread.
namespace tilewright {

/// The names of problem, config and device.
class PlanScope : public Scope {
 public:
  PlanScope(const Problem& problem, const Config& config, const DeviceFacts& device)
      : problem_(problem), config_(config), device_(device) {}
  [[nodiscard]] std::optional<Value> find(std::string_view name) const override;
  [[nodiscard]] std::vector<std::string> names() const override;

 private:
  ProblemScope problem_;
  const Config& config_;
  const DeviceFacts& device_;
};

/// PlanScope, and the residency of one kernel. The device is asked only if a formula uses it.
class GridScope : public Scope {
 public:
  /// `residency` may be null.
  GridScope(const PlanScope& plan, const PlannedKernel& kernel, const DeviceFacts& device, const Residency* residency)
      : plan_(plan), kernel_(kernel), device_(device), residency_(residency) {}
  [[nodiscard]] std::optional<Value> find(std::string_view name) const override;
  [[nodiscard]] std::vector<std::string> names() const override;

 private:
  const PlanScope& plan_;
  const PlannedKernel& kernel_;
  const DeviceFacts& device_;
  const Residency* residency_;
};

}  // namespace tilewright
