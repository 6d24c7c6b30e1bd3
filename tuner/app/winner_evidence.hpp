// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/report/served_table.hpp"

/// Tells in words why a winner is the winner: `tilewright show` without --config.
namespace tilewright::app {

/// Several lines of text about what is served: the choice, the time with its certainty and its place on the roofline,
/// correctness, the binary, the machine's state.
[[nodiscard]] std::string evidence_text(const Store& store, const Problem& problem, const ServedLine& line);

/// The same as one record for each device: the columns of served_table(), then those of evidence_table().
[[nodiscard]] Table evidence_records(const Store& store, const Problem& problem, const std::vector<ServedLine>& lines);

}  // namespace tilewright::app
