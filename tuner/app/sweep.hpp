// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/app/problem_words.hpp"
#include "tuner/app/tuning.hpp"

/// Tunes problems of ops: compiles, verifies and measures configs, and keeps the winners in the cache.
namespace tilewright::app {

/// Every combination of the values is a problem. Where no dims are given, those of the definition's grid are; where no
/// dtype is given, the op's first.
struct ProblemGrid {
  /// The op, and dims, attributes and dtype with lists and ranges of values.
  ProblemWords words;
  /// Shapes as "rows=1024,4096 cols=256..32768x2".
  std::vector<std::string> shapes;
  /// A CSV file of shapes; empty: none.
  std::filesystem::path shapes_file;
  /// More values of attributes, as NAME and VALUES.
  std::vector<std::pair<std::string, std::string>> attributes;
};
/// Throws UsageError for names and values that the op does not have.
[[nodiscard]] std::vector<Problem> problems_of(const ProblemGrid& grid, const OpDefinition& definition, bool emulator);

struct SweepProblems {
  Place place;
  Tuning tuning;
  /// Those of one op are one sweep; ops are swept in the order in which they first stand here.
  std::vector<ProblemGrid> grids;
  /// This config alone; empty: all. Of one op.
  std::string config;
};

/// The problems of an op, each once.
struct OpProblems {
  const OpDefinition* definition = nullptr;
  std::vector<Problem> problems;
};
/// Throws UsageError for names and values that an op does not have, and for dims that cannot be counted.
[[nodiscard]] std::vector<OpProblems> problems_by_op(const SweepProblems& request, Catalogue& catalogue, bool emulator);

struct SweepResult {
  /// The summary of all ops.
  SweepSummary summary;
  /// The winners of each op's problems, with notes.
  std::vector<Table> tables;
  /// Problems that no config can serve, and why; empty: none.
  std::string refusals;
};

/// Nothing when cancelled before anything was measured, as the listener hears. Throws UsageError for a request that the
/// op does not allow, Error where no problem can be served.
[[nodiscard]] std::optional<SweepResult> sweep(const SweepProblems& request, Listener& listener);

}  // namespace tilewright::app
