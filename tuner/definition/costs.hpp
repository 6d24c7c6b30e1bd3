// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/model/formula/formula.hpp"
#include "tuner/definition/definition.hpp"

/// Costs that depend on input contents: in `bytes` and `flops`, the name of a whole-number input that a formula fills
/// is the sum of its elements. Pure.
namespace tilewright {

/// Whether cost formulas may name the argument.
[[nodiscard]] bool is_summed(const Argument& arg) noexcept;

/// `cost` belongs to `definition`. Throws DefinitionError on overflow.
[[nodiscard]] std::int64_t cost_of(const Formula& cost, const OpDefinition& definition, const Problem& problem);

}  // namespace tilewright
