// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/store/history.hpp"
#include "tuner/report/winners_table.hpp"

/// The evidence of each winner, as columns: search and choice, quality of the measurement, machine and versions, needs
/// of the binary. The time itself and the runner-up are columns of the winners' table.
namespace tilewright {

struct EvidenceLine {
  const Winner* winner = nullptr;
  /// The winner's trial; null if the history does not have it.
  const History::TrialOf* trial = nullptr;
  /// Null if there is none.
  const History::BuildOf* build = nullptr;
};

[[nodiscard]] Table evidence_table(const std::vector<EvidenceLine>& lines);

}  // namespace tilewright
