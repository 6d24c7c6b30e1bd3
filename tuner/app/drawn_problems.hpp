// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tuner/definition/definition.hpp"
#include "tuner/learn/drawn_shapes.hpp"

/// Draws problems of a spec between its tuned shapes, to judge or to tune them.
namespace tilewright::app {

/// The most problems that are drawn of a spec.
inline constexpr std::int64_t kMostDrawn = 10'000;

/// The least and greatest extent of dims, by name.
using Bounds = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;
/// Reads `m=1..128 k=4096`; an empty text has no bounds. Throws UsageError.
[[nodiscard]] Bounds read_bounds(const std::string& text, const OpInterface& interface);

/// The same seed gives the same problems. Their dims are within the bounds. None moves more bytes or needs more flops
/// than the largest tuned shape, none is in `learned_from`. Those with the fewest dims in common with a learned shape
/// come first. Fewer than `count` if there are no more.
[[nodiscard]] std::vector<Problem> draw_problems(const OpDefinition& definition, const OpSpec& spec,
                                                 const std::vector<ShapeDims>& tuned,
                                                 const std::vector<ShapeDims>& learned_from, std::size_t count,
                                                 std::uint64_t seed, const Bounds& bounds = {});

}  // namespace tilewright::app
