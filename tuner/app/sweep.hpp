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

/// The problems are all combinations of the values. Without dims, the definition's grid has the shapes; without a
/// dtype, the op's first counts.
struct ProblemGrid {
  /// The op, and dims, attributes and dtype with lists and ranges of values.
  ProblemWords words;
  /// Shapes as "rows=1024,4096 cols=256..32768x2".
  std::vector<std::string> shapes;
  /// A CSV file of shapes; empty: none.
  std::filesystem::path shapes_file;
  /// More values of attributes, as NAME and VALUES.
  std::vector<std::pair<std::string, std::string>> attributes;
  /// So many random shapes of each dtype and attributes, between those that are tuned on the device; 0: none.
  std::size_t seeded = 0;
  /// See read_bounds().
  std::string within{};
};
/// Throws UsageError for names and values that the op does not have.
[[nodiscard]] std::vector<Problem> problems_of(const ProblemGrid& grid, const OpDefinition& definition, bool emulator);

struct SweepProblems {
  Place place;
  Tuning tuning;
  /// Grids of one op are one sweep; ops are swept in the order of their first grids.
  std::vector<ProblemGrid> grids;
  /// The one config to consider, of one op; empty: all configs.
  std::string config;
  /// The grids' words choose among the problems with a winner; no grids: those of all ops.
  bool tuned = false;
};

/// The problems of one op.
struct OpProblems {
  const OpDefinition* definition = nullptr;
  std::vector<Problem> problems;
};
/// What is tuned on a model of devices.
struct TunedOn {
  const Store& store;
  std::string fingerprint;
  MeasureMode mode = MeasureMode::cold;
  /// Is told of ops that are left out.
  Listener& listener;
};
/// Whether problems depend on what is tuned. The sweep's devices must then be of one model.
[[nodiscard]] bool takes_tuned(const SweepProblems& request);
/// Throws UsageError for devices of several models.
void require_one_model(const std::vector<std::string>& fingerprints);
/// Without `tuned`, there are no random shapes and no problems with a winner. Throws UsageError for unknown names and
/// values, for dims whose bytes or operations cannot be counted, and for tuned problems without a cache; Error if no
/// random shape can be drawn, or if no winner matches.
[[nodiscard]] std::vector<OpProblems> problems_by_op(const SweepProblems& request, Catalogue& catalogue, bool emulator,
                                                     const TunedOn* tuned = nullptr);

struct SweepResult {
  /// The sum over all ops.
  SweepSummary summary;
  /// The winners of each op's problems, with notes.
  std::vector<Table> tables;
  /// Problems that no config can serve, and why; empty if there are none.
  std::string refusals;
};

/// nullopt if cancelled before anything was measured, with a warning. Throws UsageError for a request that the op does
/// not allow, Error if no problem can be served.
[[nodiscard]] std::optional<SweepResult> sweep(const SweepProblems& request, Listener& listener);

}  // namespace tilewright::app
