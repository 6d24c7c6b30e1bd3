// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/plan/plan.hpp"
#include "tuner/app/query.hpp"
#include "tuner/compile/compiler.hpp"

/// An op, one config of it as the compiler sees it, or the evidence of a winner. Opens no device.
namespace tilewright::app {

struct ConfigRequest {
  Place place;
  /// Dims that are left out are those of the first shape of the definition's grid that the config is legal for.
  ProblemWords problem;
  /// Its parameters in any order.
  std::string config;
  /// As facts_of_arch() takes it; "cpu" has no PTX.
  std::string arch = "sm_90a";
  /// False: the source alone is made.
  bool compiles = true;
};

struct ShownConfig {
  Problem problem;
  Config config;
  LaunchPlan plan;
  std::string arch;
  std::string source;
  /// The result, where it was compiled; `ptx` is empty for the emulator.
  CompileResult result;
  std::string ptx;

  /// That it does not compile and why, in a sentence.
  [[nodiscard]] std::string error() const;
};

/// Throws UsageError for a config that the op does not have or that is illegal for the shape; then its text names one
/// that it can serve. That it does not compile stands in the result.
[[nodiscard]] ShownConfig show_config(const ConfigRequest& request);
/// Its launch, and what the compiler says that it needs, a row a kernel.
[[nodiscard]] Table table_of(const ShownConfig& shown, const Place& place);

/// Why winners are the winners.
struct Evidence {
  /// A record a device.
  Table records;
  /// The same for people, by device.
  std::vector<std::string> texts;
};
/// Throws Error where nothing serves, CacheError also where something of the cache could not be read: evidence of a
/// fallback would pass for the winner's.
[[nodiscard]] Evidence show_winner(const QueryRequest& request);

/// The configs that served a problem over time, a row each: by device, mode and role, the latest first. Throws Error
/// where nothing ever was.
[[nodiscard]] Table show_history(const QueryRequest& request);

struct ShownOp {
  Table op;
  /// In the order of a call.
  Table arguments;
  Table parameters;
};
[[nodiscard]] ShownOp show_op(const std::string& op, const Place& place);

}  // namespace tilewright::app
