// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tuner/definition/definition.hpp"
#include "tuner/definition/reading/arguments.hpp"
#include "tuner/definition/reading/names.hpp"
#include "tuner/definition/reading/sources.hpp"
#include "tuner/definition/reading/vocabulary.hpp"

/// The `[op]` table of a definition.
namespace tilewright::reading {

struct OpPart {
  /// All but implementations and base.
  OpDefinition definition;
  ArgumentList args;
  NameRegistry names;
  Vocabulary vocabulary;
  /// The parameters of kernels that list none of their own; null: all arguments and then all dims.
  const Member* params = nullptr;
  /// The text of `base`, or null.
  const Node* base = nullptr;
  /// Nothing in it is missing or wrong, so that problems of this op can be made and planned.
  bool sound = false;
};

/// `stem` is the file's name without `.toml`, which must be the op's.
[[nodiscard]] OpPart read_op(const Node& table, const std::string& stem, Sources& sources, Mistakes& mistakes);

/// The parts of [op] that say how the tuner verifies and measures: reference, tolerance, samples, grid,
/// emulator_grid.
void read_tuning(Section& section, Sources& sources, OpPart& op);
/// Reads `tolerance`: one table, or a list of tables with conditions that together cover every problem.
void read_tolerance(Section& section, OpPart& op);
/// Reads `sample` and `samples`.
void read_samples(Section& section, Sources& sources, OpPart& op);

}  // namespace tilewright::reading
