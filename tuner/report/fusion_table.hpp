// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/analysis/fusion.hpp"
#include "tuner/report/table.hpp"

/// Tables of the account of a fused op (tuner/analysis/fusion.hpp).
namespace tilewright {

/// A line for each step, one for the chain, one fused. The last has the whole account for programs.
[[nodiscard]] Table fusion_table(const FusionAccount& account);
/// The verdict with its reasons, for people.
[[nodiscard]] Table verdict_table(const FusionAccount& account);

}  // namespace tilewright
