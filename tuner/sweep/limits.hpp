// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/plan.hpp"
#include "cache/store/records.hpp"

/// What a compiled config needs against what the device has: judged from the compiler's figures, before anything is
/// loaded. Pure.
namespace tilewright {

/// Bytes a thread may spill in one kernel. A few are harmless; more than this goes to memory on every iteration, which
/// no tile shape makes up for.
inline constexpr int kMostSpillBytes = 128;

/// Why this build cannot be launched by `plan` on the device, or is not worth it; nothing when it is fine. `is_base`:
/// the op's fallback is never dropped for spills, since it must serve.
[[nodiscard]] std::optional<std::string> exceeded_limit(const LaunchPlan& plan, const std::vector<KernelFacts>& kernels,
                                                        const DeviceFacts& device, bool is_base);

}  // namespace tilewright
