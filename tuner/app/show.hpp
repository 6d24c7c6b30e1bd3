// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/plan/plan.hpp"
#include "tuner/app/query.hpp"
#include "tuner/compile/compiler.hpp"

/// Shows an op, one config of it as the compiler sees it, or the evidence of a winner. Opens no device.
namespace tilewright::app {

struct ConfigRequest {
  Place place;
  /// Missing dims are taken from the first shape of the definition's grid that the config is legal for.
  ProblemWords problem;
  /// The parameters may stand in any order.
  std::string config;
  /// See facts_of_arch(); "cpu" has no PTX.
  std::string arch = "sm_90a";
  /// If false, only the source is made.
  bool compiles = true;
};

struct ShownConfig {
  Problem problem;
  Config config;
  LaunchPlan plan;
  std::string arch;
  std::string source;
  /// Set if it was compiled; `ptx` is empty for the emulator.
  CompileResult result;
  std::string ptx;

  /// Why it does not compile, in a sentence.
  [[nodiscard]] std::string error() const;
};

/// Throws UsageError for a config that the op does not have or that is illegal for the shape; the text then names a
/// legal shape, if there is one. A failed compile is in the result.
[[nodiscard]] ShownConfig show_config(const ConfigRequest& request);
/// Its launch and the compiler's figures, one row for each kernel.
[[nodiscard]] Table table_of(const ShownConfig& shown, const Place& place);

/// Why winners were chosen.
struct Evidence {
  /// One record for each device.
  Table records;
  /// The same for people, by device.
  std::vector<std::string> texts;
  /// See OpenPlace::warning().
  std::string warning{};
};
/// Throws Error if nothing serves, CacheError also if a part of the cache could not be read: the evidence of a fallback
/// would pass for the winner's. Throws DefinitionError as query() does.
[[nodiscard]] Evidence show_winner(const QueryRequest& request);

/// The configs that served a problem over time, one row each, by device, mode and role, the latest first. Throws Error
/// if there is none.
[[nodiscard]] Table show_history(const QueryRequest& request);

struct ShownOp {
  Table op;
  /// In the order of a call.
  Table arguments;
  Table parameters;
};
[[nodiscard]] ShownOp show_op(const std::string& op, const Place& place);

}  // namespace tilewright::app
