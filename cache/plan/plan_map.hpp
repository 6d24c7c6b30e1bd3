// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

#include "cache/plan/plan.hpp"

/// One tensor map of a plan, checked by the rules of cuTensorMapEncodeTiled, so that an illegal config is found without
/// a GPU. Pure functions.
namespace tilewright {

/// TMA addresses are multiples of this many bytes.
inline constexpr std::size_t kTensorMapAlignment = 16;

/// `index` is that of the mapped argument of `args`, or of the workspace, with elements of `type`. Returns the map, or
/// in words why the hardware refuses it or the workspace does not hold it. Throws DefinitionError if a formula cannot
/// be evaluated, or if the numbers of formulas do not match.
[[nodiscard]] std::variant<PlannedMap, std::string> plan_map(const TensorMapRecipe& recipe, std::size_t index,
                                                             const PlannedArg& arg, const Scope& scope,
                                                             std::span<const PlannedArg> args = {});
[[nodiscard]] std::variant<PlannedMap, std::string> plan_map(const TensorMapRecipe& recipe, std::size_t index,
                                                             const PlannedWorkspace& workspace, DType type,
                                                             const Scope& scope);

/// The map's elements as a CUtensorMapDataType.
[[nodiscard]] int tensor_map_type(const PlannedMap& map) noexcept;

}  // namespace tilewright
