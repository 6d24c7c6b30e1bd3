// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cache/model/formula/formula.hpp"
#include "tuner/device/tensor_tools.hpp"

/// From a formula of element indices to a program that a device runs for each element (kernels/utility/program.cuh).
namespace tilewright {

/// The program of `formula`; names other than those in `index` are in `constants` and become numbers. Where the formula
/// has a value the program has the same, and none where evaluating throws. Throws DefinitionError for a formula that is
/// nested deeper than a program's stack.
[[nodiscard]] std::vector<utility::i64> program_of(const Formula& formula, std::span<const std::string> index,
                                                   const Scope& constants);

}  // namespace tilewright
