// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// The words of verdicts: the reason of a trial that was pruned begins with what left it out and a colon.
namespace tilewright {

inline constexpr std::string_view kPrunedByModel = "model";
inline constexpr std::string_view kPrunedForOccupancy = "occupancy";

/// One of these; empty where the reason is in another's words.
[[nodiscard]] std::string_view pruned_by(std::string_view reason);

/// The kind of a prune, for counts: the same words for all configs left out for the same reason, "pruned before
/// compiling: …".
[[nodiscard]] std::string kind_of_prune(std::string_view reason);

}  // namespace tilewright
