// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/drawn_problems.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "cache/model/domain.hpp"

namespace tilewright::app {
namespace {

/// Shapes are drawn between the tuned ones, at most kDrawnForOne for each that is taken.
constexpr double kBeyond = 1;
constexpr std::size_t kDrawnForOne = 64;

}  // namespace

std::vector<Problem> draw_problems(const OpDefinition& definition, const OpSpec& spec,
                                   const std::vector<ShapeDims>& tuned, const std::vector<ShapeDims>& learned_from,
                                   std::size_t count, std::uint64_t seed) {
  if (tuned.empty() || count == 0) return {};
  const auto problem = [&](const ShapeDims& shape) { return problem_of(definition.interface, spec, shape); };
  std::int64_t most_bytes = 0;
  std::int64_t most_flops = 0;
  for (const ShapeDims& shape : tuned) {
    most_bytes = std::max(most_bytes, definition.bytes_of(problem(shape)));
    most_flops = std::max(most_flops, definition.flops_of(problem(shape)));
  }
  // By the dims in common with a learned shape: a dim may have one value everywhere, or all usual ones.
  std::vector<std::vector<Problem>> by_common(tuned.front().size());
  std::set<ShapeDims> seen;
  for (const ShapeDims& drawn : draw_shapes(tuned, count * kDrawnForOne, kBeyond, seed)) {
    if (by_common.front().size() == count) break;
    const std::optional<ShapeDims> inside = dims_in_domain(spec, definition.interface, drawn);
    if (!inside || !seen.insert(*inside).second) continue;
    std::size_t common = 0;
    for (const ShapeDims& other : learned_from) common = std::max(common, dims_in_common(*inside, other));
    if (common >= by_common.size()) continue;  // a learned shape itself
    const Problem one = problem(*inside);
    if (definition.bytes_of(one) <= most_bytes && definition.flops_of(one) <= most_flops) {
      by_common[common].push_back(one);
    }
  }
  std::vector<Problem> taken;
  for (std::vector<Problem>& each : by_common) {
    const auto missing = static_cast<std::ptrdiff_t>(std::min(each.size(), count - taken.size()));
    std::move(each.begin(), each.begin() + missing, std::back_inserter(taken));
  }
  return taken;
}

}  // namespace tilewright::app
