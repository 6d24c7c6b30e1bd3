// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/model/records.hpp"
#include "cache/plan/plan.hpp"

/// Compares a compiled config's needs with the device's limits by the compiler's figures, before it is loaded. Pure.
namespace tilewright {

/// Why `plan` cannot launch this build on the device; nullopt if it can.
[[nodiscard]] std::optional<std::string> exceeded_limit(const LaunchPlan& plan, const std::vector<KernelFacts>& kernels,
                                                        const DeviceFacts& device);

}  // namespace tilewright
