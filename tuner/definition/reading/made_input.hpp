// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tuner/definition/reading/op.hpp"

/// Inputs made by another op's reference: `y = { op = "softmax", output = "y" }`.
namespace tilewright::reading {

/// Values of other ops' attributes, which are members of the generated struct beside this op's.
using MadeAttributes = std::map<std::string, std::string>;

/// Reads the sample of `arg`. If it cannot be made: nullopt and the mistakes. `attributes` holds those of the inputs
/// read before; this input's are added.
[[nodiscard]] std::optional<MadeInput> read_made_input(Section& section, const Argument& arg, const OpPart& op,
                                                       Sources& sources, MadeAttributes& attributes);

}  // namespace tilewright::reading
