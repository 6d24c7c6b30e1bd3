// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/model/records.hpp"
#include "cache/plan/plan.hpp"

/// A compiled config's needs against the device's limits: judged from the compiler's figures, before anything is
/// loaded. Pure.
namespace tilewright {

/// Why this build cannot be launched by `plan` on the device; nothing when it can.
[[nodiscard]] std::optional<std::string> exceeded_limit(const LaunchPlan& plan, const std::vector<KernelFacts>& kernels,
                                                        const DeviceFacts& device);

}  // namespace tilewright
