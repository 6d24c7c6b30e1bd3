// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cache/model/records.hpp"
#include "tuner/app/tuning.hpp"

/// Misses: shapes that applications asked for and that had no exact winner. `TILEWRIGHT_MISSES` names their file.
namespace tilewright::app {

struct MissesRequest {
  Place place;
  Tuning tuning;
  /// Empty: all ops.
  std::string op;
};

struct MissesResult {
  /// The misses with their winners; a miss with a winner is removed from the file. nullopt if there was nothing to
  /// tune, as the listener is told.
  std::optional<Table> table;
  /// Whether all misses that can be tuned were.
  bool whole = true;
};

/// Throws UsageError if misses are not recorded.
[[nodiscard]] MissesResult sweep_misses(const MissesRequest& request, Listener& listener);
/// The most requested first.
[[nodiscard]] Table list_misses();
/// A row for each, in their order.
[[nodiscard]] Table misses_table(std::span<const Miss> misses);

}  // namespace tilewright::app
