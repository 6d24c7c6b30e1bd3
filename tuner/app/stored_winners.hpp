// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/app/listener.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/report/winners_table.hpp"

/// A cache's winners of an op, with the figures that need the op's definition, for tables and reports.
namespace tilewright::app {

/// The op's definition, or null if it is not on this machine: a cache may come from another one. Throws UsageError with
/// the nearest right name for an op that neither knows.
[[nodiscard]] const OpDefinition* definition_of(const std::string& op, Catalogue& catalogue, const Store& store);

/// The ops of the cache that are defined here. The listener is told of the others.
[[nodiscard]] std::vector<std::string> defined_ops(const Store& store, const Catalogue& catalogue, Listener& listener);

struct StoredWinners {
  /// The best of each problem, in the order of a table.
  std::vector<WinnerLine> lines;
  /// The number of winners of an older interface, which are left out.
  std::size_t retired = 0;
};
/// `definition` may be null; `mode` nullopt means all modes. `fingerprints` are the wanted devices.
[[nodiscard]] StoredWinners stored_winners(const Store& store, const OpInterface& interface,
                                           const OpDefinition* definition, const std::vector<std::string>& fingerprints,
                                           std::optional<MeasureMode> mode);

/// Tells which figures are unknown without the op's definition.
[[nodiscard]] std::string no_definition_note(const std::string& op);

}  // namespace tilewright::app
