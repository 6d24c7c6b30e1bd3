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
  /// Complete except for implementations and base.
  OpDefinition definition;
  ArgumentList args;
  NameRegistry names;
  Vocabulary vocabulary;
  /// The parameters of kernels that list none of their own; null: all arguments, then all dims.
  const Member* params = nullptr;
  /// `data_version`, or null.
  const Member* data_version = nullptr;
  /// The text of `base`, or null.
  const Node* base = nullptr;
  /// No part is missing or wrong, so problems of this op can be made and planned.
  bool sound = false;
};

/// `stem` is the file's name without `.toml`; it must be the op's name.
[[nodiscard]] OpPart read_op(const Node& table, const std::string& stem, Sources& sources, Mistakes& mistakes);

/// Reads the keys for verification and measurement: reference, tolerance, samples, draws, grid, emulator_grid.
void read_tuning(Section& section, Sources& sources, OpPart& op);
/// Reads `tolerance`: a table, or a list of conditional tables that together cover all problems.
void read_tolerance(Section& section, OpPart& op);
/// Reads `sample`, `samples` and `draws`.
void read_samples(Section& section, Sources& sources, OpPart& op);

}  // namespace tilewright::reading
