// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cache/model/formula/formula.hpp"
#include "tuner/device/tensor_tools.hpp"

/// Translates a formula over element indices to a program that a device runs per element (kernels/utility/program.cuh).
namespace tilewright {

/// The program of `formula`. Names outside `index` come from `constants` and become numbers. The program gives the
/// formula's value, or none where evaluation throws. Throws DefinitionError if the formula is nested deeper than a
/// program's stack.
[[nodiscard]] std::vector<utility::i64> program_of(const Formula& formula, std::span<const std::string> index,
                                                   const Scope& constants);

}  // namespace tilewright
