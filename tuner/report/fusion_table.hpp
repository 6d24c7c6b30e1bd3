// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tuner/analysis/fusion.hpp"
#include "tuner/report/table.hpp"

/// Tables of the account of a fused op (tuner/analysis/fusion.hpp).
namespace tilewright {

/// A line for each step, one for the chain, one fused. The last has the whole account for programs.
[[nodiscard]] Table fusion_table(const FusionAccount& account);
/// The lines of all accounts, which are of one problem and at least one, for programs.
[[nodiscard]] Table fusion_table(const std::vector<FusionAccount>& accounts);
/// The verdict with its reasons, for people.
[[nodiscard]] Table verdict_table(const FusionAccount& account);

}  // namespace tilewright
