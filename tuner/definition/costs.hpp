// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/model/formula/formula.hpp"
#include "tuner/definition/definition.hpp"

/// Costs by what inputs hold: in `bytes` and `flops` an input of whole numbers that a formula fills stands for the sum
/// of its elements. Pure.
namespace tilewright {

/// Whether formulas of costs may name an argument.
[[nodiscard]] bool is_summed(const Argument& arg) noexcept;

/// `cost` is one of the definition's. Throws DefinitionError on overflow.
[[nodiscard]] std::int64_t cost_of(const Formula& cost, const OpDefinition& definition, const Problem& problem);

}  // namespace tilewright
