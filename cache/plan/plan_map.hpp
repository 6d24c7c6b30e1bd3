// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

#include "cache/plan/plan.hpp"

/// One tensor map of a plan, judged by what cuTensorMapEncodeTiled takes, so that a config that it would refuse is
/// known to be illegal where there is no GPU.
namespace tilewright {

/// A TMA address is a multiple of so many bytes.
inline constexpr std::size_t kTensorMapAlignment = 16;

/// `index` is that of the mapped argument of `args`, or of the workspace, with elements of `type`. Gives the map, or in
/// words why the hardware does not take it or what it is over does not hold it. Throws DefinitionError for a formula
/// that cannot be evaluated, and for counts of formulas that do not fit.
[[nodiscard]] std::variant<PlannedMap, std::string> plan_map(const TensorMapRecipe& recipe, std::size_t index,
                                                             const PlannedArg& arg, const Scope& scope,
                                                             std::span<const PlannedArg> args = {});
[[nodiscard]] std::variant<PlannedMap, std::string> plan_map(const TensorMapRecipe& recipe, std::size_t index,
                                                             const PlannedWorkspace& workspace, DType type,
                                                             const Scope& scope);

/// The map's elements as a CUtensorMapDataType.
[[nodiscard]] int tensor_map_type(const PlannedMap& map) noexcept;

}  // namespace tilewright
