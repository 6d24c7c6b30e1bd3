// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/definition/reading/op.hpp"

/// The `[fusion]` table of a definition.
namespace tilewright::reading {

/// Reads it into `op`. Whether the ops of its steps exist, and have such dims and attributes, is asked when they are
/// needed: they are other definitions.
void read_fusion(const Node& table, OpPart& op, Mistakes& mistakes);

/// Evaluates its formulas for a few problems of a definition that reads well.
void rehearse_fusion(const OpDefinition& definition, Mistakes& mistakes);

}  // namespace tilewright::reading
