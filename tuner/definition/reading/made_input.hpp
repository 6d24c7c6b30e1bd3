// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tuner/definition/reading/op.hpp"

/// Inputs that the reference of another op makes: `y = { op = "softmax", output = "y" }`.
namespace tilewright::reading {

/// Attributes of other ops, which are members of the generated struct beside this op's, with their values.
using MadeAttributes = std::map<std::string, std::string>;

/// Reads the sample of `arg`; nothing, and the mistakes, when it cannot be made. `attributes` are those of the inputs
/// read before, to which it adds its own.
[[nodiscard]] std::optional<MadeInput> read_made_input(Section& section, const Argument& arg, const OpPart& op,
                                                       Sources& sources, MadeAttributes& attributes);

}  // namespace tilewright::reading
