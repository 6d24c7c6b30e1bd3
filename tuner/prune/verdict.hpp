// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// The wording of verdicts: a pruned trial's reason begins with the cause and a colon. Pure.
namespace tilewright {

inline constexpr std::string_view kPrunedByModel = "model";
inline constexpr std::string_view kPrunedForOccupancy = "occupancy";

/// The cause, or empty if the reason has other wording.
[[nodiscard]] std::string_view pruned_by(std::string_view reason);

/// The kind of a prune, for counts: "pruned before compiling: …". Equal for all configs pruned for one cause.
[[nodiscard]] std::string kind_of_prune(std::string_view reason);

}  // namespace tilewright
