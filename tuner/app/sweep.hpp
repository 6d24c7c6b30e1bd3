// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/app/problem_words.hpp"
#include "tuner/app/tuning.hpp"

/// Tunes problems of an op: compiles, verifies and measures configs, and keeps the winners in the cache.
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
  ProblemGrid grid;
  /// This config alone; empty: all.
  std::string config;
};

struct SweepResult {
  SweepSummary summary;
  /// The winners of the problems, with what is to be said of them.
  Table table;
  /// Problems that no config can serve, and why; empty: none.
  std::string refusals;
};

/// Nothing when cancelled before anything was measured, which is told. Throws UsageError for what cannot be asked of
/// the op, Error where no problem can be served.
[[nodiscard]] std::optional<SweepResult> sweep(const SweepProblems& request, Listener& listener);

}  // namespace tilewright::app
