// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/plan/plan.hpp"

/// The names that launch formulas see. Scopes keep references: what they are made from must outlive them. One thread.
namespace tilewright {

/// Problem, config and device.
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

/// The same and what can be asked of one kernel. The device is asked only for a formula that wants to know.
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
