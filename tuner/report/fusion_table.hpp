// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/analysis/fusion.hpp"
#include "tuner/report/table.hpp"

/// The accounting of a fused op (tuner/analysis/fusion.hpp), as tables.
namespace tilewright {

/// A line for each step, one for the chain, one fused. For programs the last has the whole account.
[[nodiscard]] Table fusion_table(const FusionAccount& account);
/// The verdict with its reasons, for people.
[[nodiscard]] Table verdict_table(const FusionAccount& account);

}  // namespace tilewright
