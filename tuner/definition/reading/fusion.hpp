// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/definition/reading/op.hpp"

/// The `[fusion]` table of a definition.
namespace tilewright::reading {

/// Reads the table into `op`. Whether the steps' ops exist and have these dims and attributes is checked on use,
/// because they are other definitions.
void read_fusion(const Node& table, OpPart& op, Mistakes& mistakes);

/// Evaluates the formulas for a few problems. `definition` has no mistakes so far.
void rehearse_fusion(const OpDefinition& definition, Mistakes& mistakes);

}  // namespace tilewright::reading
