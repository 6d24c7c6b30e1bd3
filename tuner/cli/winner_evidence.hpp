// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cache/match.hpp"
#include "cache/store/store.hpp"

/// Why a winner is the winner, in words: `tilewright show` without --config.
namespace tilewright::cli {

/// Several lines of text: the choice, the time and how sure it is, correctness, the binary, the machine's state.
[[nodiscard]] std::string evidence_text(const Store& store, const Problem& problem, const Served& served);

}  // namespace tilewright::cli
