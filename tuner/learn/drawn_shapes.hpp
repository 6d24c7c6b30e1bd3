// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/predict/nearest.hpp"

/// Shapes between and around the tuned ones: spares (spares.hpp) are chosen for them, and regret judges them. Pure
/// functions, for any thread.
namespace tilewright {

/// Shapes spread evenly over the logarithms of the lengths, from the shortest tuned length of a dim over `beyond` to
/// `beyond` times the longest. Two of three long lengths are multiples of 8, like most lengths of applications. The
/// same `seed` gives the same shapes; a larger `count` only appends. `tuned` is not empty.
[[nodiscard]] std::vector<ShapeDims> draw_shapes(const std::vector<ShapeDims>& tuned, std::size_t count, double beyond,
                                                 std::uint64_t seed = 0);

[[nodiscard]] Problem problem_of(const OpInterface& interface, const OpSpec& spec, const ShapeDims& shape);
/// The number of dims of equal length.
[[nodiscard]] std::size_t dims_in_common(const ShapeDims& a, const ShapeDims& b);
/// Whether any dim has equal length.
[[nodiscard]] bool shares_a_dim(const ShapeDims& a, const ShapeDims& b);

}  // namespace tilewright
