// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cache/plan/plan.hpp"
#include "tuner/definition/samples.hpp"

/// Inputs of whole numbers that steer a kernel: targets, cumulative lengths, page tables.
namespace tilewright {

/// The elements of `arg` in row-major order, by the fill of its sample: "range", "prefix" or "permutation". They follow
/// from `key` alone.
[[nodiscard]] std::vector<std::int64_t> whole_numbers(const PlannedArg& arg, const Sample& sample,
                                                      const WholeBounds& bounds, std::uint64_t key);

}  // namespace tilewright
