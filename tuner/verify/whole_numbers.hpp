// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cache/plan/plan.hpp"
#include "tuner/definition/samples.hpp"

/// Whole-number inputs that steer a kernel: targets, cumulative lengths, page tables. Pure.
namespace tilewright {

/// The elements of `arg` in row-major order, by its sample's fill: "range", "prefix" or "permutation". `key` determines
/// the random numbers.
[[nodiscard]] std::vector<std::int64_t> whole_numbers(const PlannedArg& arg, const Sample& sample,
                                                      const WholeBounds& bounds, std::uint64_t key);

}  // namespace tilewright
