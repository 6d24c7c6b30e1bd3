// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/predict/nearest.hpp"

/// Shapes between and around those that were tuned: what spares (spares.hpp) are chosen for, and what regret judges.
/// Pure.
namespace tilewright {

/// Spread evenly over the logarithms of the lengths, from `beyond` times below the shortest of a dim that was tuned to
/// as much above the longest; two of three long lengths are multiples of 8, as most that applications have are. The
/// same `seed` gives the same shapes, and more of them begin with those of fewer. `tuned` holds one at least.
[[nodiscard]] std::vector<ShapeDims> draw_shapes(const std::vector<ShapeDims>& tuned, std::size_t count, double beyond,
                                                 std::uint64_t seed = 0);

[[nodiscard]] Problem problem_of(const OpInterface& interface, const OpSpec& spec, const ShapeDims& shape);
/// The number of dims that have the same length in both.
[[nodiscard]] std::size_t dims_in_common(const ShapeDims& a, const ShapeDims& b);
/// Some of these have a length in common.
[[nodiscard]] bool shares_a_dim(const ShapeDims& a, const ShapeDims& b);

}  // namespace tilewright
