// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tuner/definition/definition.hpp"
#include "tuner/learn/drawn_shapes.hpp"

/// Draws problems of a spec between its tuned shapes, to judge or to tune them.
namespace tilewright::app {

/// The most problems that are drawn of a spec.
inline constexpr std::int64_t kMostDrawn = 10'000;

/// The same seed gives the same problems. None moves more bytes or needs more flops than the largest tuned shape, none
/// is in `learned_from`. Those with the fewest dims in common with a learned shape come first. Fewer than `count` if
/// there are no more.
[[nodiscard]] std::vector<Problem> draw_problems(const OpDefinition& definition, const OpSpec& spec,
                                                 const std::vector<ShapeDims>& tuned,
                                                 const std::vector<ShapeDims>& learned_from, std::size_t count,
                                                 std::uint64_t seed);

}  // namespace tilewright::app
