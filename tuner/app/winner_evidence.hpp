// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/serve/match.hpp"
#include "cache/store/store.hpp"
#include "tuner/report/served_table.hpp"

/// Why a winner is the winner, in words: `tilewright show` without --config.
namespace tilewright::app {

/// Several lines of text about what is served: the choice, the time, how sure it is and where it stands, correctness,
/// the binary, the machine's state.
[[nodiscard]] std::string evidence_text(const Store& store, const Problem& problem, const ServedLine& line);

/// The same as a record for each device: what served_table() says, and behind it every column of evidence_table().
[[nodiscard]] Table evidence_records(const Store& store, const Problem& problem, const std::vector<ServedLine>& lines);

}  // namespace tilewright::app
