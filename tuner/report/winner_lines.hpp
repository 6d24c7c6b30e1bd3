// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/definition/definition.hpp"
#include "tuner/report/winners_table.hpp"

/// Makes lines of the winners' table from rows of the cache.
namespace tilewright {

/// Adds bytes, flops, the ceiling of the same traffic and the device's compute rate, if `definition` is not null and
/// has the row's interface.
[[nodiscard]] WinnerLine winner_line(Ceilings& ceilings, const OpDefinition* definition, Store::WinnerRow row,
                                     const Match& match);

/// Hashes of the current implementations; empty without a definition.
[[nodiscard]] std::vector<std::string> current_hashes(const OpDefinition* definition);

}  // namespace tilewright
