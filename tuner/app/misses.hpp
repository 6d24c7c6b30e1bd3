// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tuner/app/tuning.hpp"

/// Shapes that applications asked for and that had no exact winner: `TILEWRIGHT_MISSES` names their file.
namespace tilewright::app {

struct MissesRequest {
  Place place;
  Tuning tuning;
  /// Empty: all ops.
  std::string op;
};

struct MissesResult {
  /// Each with its winner; those that have one are forgotten. Nothing where there was none to tune, as the listener
  /// hears.
  std::optional<Table> table;
  /// All that could be tuned was.
  bool whole = true;
};

/// Throws UsageError where no miss is recorded.
[[nodiscard]] MissesResult sweep_misses(const MissesRequest& request, Listener& listener);
/// The most asked first.
[[nodiscard]] Table list_misses();

}  // namespace tilewright::app
