// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/definition/definition.hpp"
#include "tuner/report/winners_table.hpp"

/// From rows of the cache to lines of the winners' table.
namespace tilewright {

/// Adds bytes, flops, the ceiling of the same traffic and the device's compute rate, where `definition` is given (it
/// may be null) and is of the interface that the row is of.
[[nodiscard]] WinnerLine winner_line(Ceilings& ceilings, const OpDefinition* definition, Store::WinnerRow row,
                                     const Match& match);

/// Hashes of the implementations as they are now; empty without a definition.
[[nodiscard]] std::vector<std::string> current_hashes(const OpDefinition* definition);

}  // namespace tilewright
