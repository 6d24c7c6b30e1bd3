// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  /// Of kernels that list none: those of `params`, or every argument and then every dim.
  std::vector<KernelParam> params;
  bool has_params = false;
  /// Nothing is missing in `params` because of a mistake.
  bool params_complete = false;
  /// The text of `base`, or null.
  const Node* base = nullptr;
  /// Nothing in it is missing or wrong, so that problems of this op can be made and planned.
  bool sound = false;
};

/// `stem` is the file's name without `.toml`, which must be the op's.
[[nodiscard]] OpPart read_op(const Node& table, const std::string& stem, Sources& sources, Mistakes& mistakes);

/// One of a list of kernel parameters, or nothing where it is none. Tensors, scalars and dims must be those of the op.
[[nodiscard]] std::optional<KernelParam> read_param(const Node& text, const OpPart& op, Mistakes& mistakes);

/// The parts of [op] that say how the tuner verifies and measures: reference, tolerance, sample, grid, emulator_grid.
void read_tuning(Section& section, Sources& sources, OpPart& op);
/// Of those, `tolerance`: one table, or a list of tables with conditions that together cover every problem.
void read_tolerance(Section& section, OpPart& op);

}  // namespace tilewright::reading
