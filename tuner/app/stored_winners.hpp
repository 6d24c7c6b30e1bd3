// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/definition/catalogue.hpp"
#include "tuner/report/winners_table.hpp"

/// The winners that a cache has of an op, with what the op's definition adds, for tables and reports.
namespace tilewright::app {

/// The op's definition, or null when it is not on this machine: a cache may come from another. Throws UsageError with
/// the nearest right name for an op that neither knows.
[[nodiscard]] const OpDefinition* definition_of(const std::string& op, Catalogue& catalogue, const Store& store);

struct StoredWinners {
  /// The best of each problem, in the order of a table.
  std::vector<WinnerLine> lines;
  /// Winners of an older interface of the op, which are left out.
  std::size_t retired = 0;
};
/// `definition` may be null; `mode` nothing: of all. `fingerprints` are the devices wanted.
[[nodiscard]] StoredWinners stored_winners(const Store& store, const OpInterface& interface,
                                           const OpDefinition* definition, const std::vector<std::string>& fingerprints,
                                           std::optional<MeasureMode> mode);

/// Says which figures are unknown where an op's definition is elsewhere.
[[nodiscard]] std::string no_definition_note(const std::string& op);

}  // namespace tilewright::app
