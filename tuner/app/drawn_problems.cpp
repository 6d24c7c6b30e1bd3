// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/drawn_problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include "cache/base/error.hpp"
#include "cache/model/domain.hpp"

namespace tilewright::app {
namespace {

/// Shapes are drawn between the tuned ones, at most kDrawnForOne for each that is taken.
constexpr double kBeyond = 1;
constexpr std::size_t kDrawnForOne = 64;

/// The corners of the box of these shapes within the bounds; empty if it is.
std::vector<ShapeDims> corners(const std::vector<ShapeDims>& shapes, const OpInterface& interface,
                               const Bounds& bounds) {
  ShapeDims low, high;
  for (std::size_t d = 0; d < interface.dims.size(); ++d) {
    auto [least, most] = std::ranges::minmax(shapes, {}, [&](const ShapeDims& each) { return each[d]; });
    low.push_back(least[d]);
    high.push_back(most[d]);
    const auto bound = bounds.find(interface.dims[d]);
    if (bound == bounds.end()) continue;
    low[d] = std::max(low[d], bound->second.first);
    high[d] = std::min(high[d], bound->second.second);
    if (low[d] > high[d]) return {};
  }
  return {low, high};
}

}  // namespace

Bounds read_bounds(const std::string& text, const OpInterface& interface) {
  Bounds bounds;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (std::ranges::find(interface.dims, name) == interface.dims.end()) {
      throw UsageError(fmt::format("{} is no dim of {}{}", name, interface.op, suggestion(name, interface.dims)));
    }
    const std::string range = equals == std::string::npos ? "" : word.substr(equals + 1);
    const std::size_t dots = range.find("..");
    const std::int64_t low = parse_dim(name, range.substr(0, dots));
    const std::int64_t high = dots == std::string::npos ? low : parse_dim(name, range.substr(dots + 2));
    if (low > high) {
      throw UsageError(fmt::format("--within takes NAME=LEAST..MOST, such as {}=1..128, and was given '{}'",
                                   interface.dims.front(), word));
    }
    if (!bounds.emplace(name, std::pair(low, high)).second) {
      throw UsageError(fmt::format("--within names {} twice", name));
    }
  }
  return bounds;
}

std::vector<Problem> draw_problems(const OpDefinition& definition, const OpSpec& spec,
                                   const std::vector<ShapeDims>& tuned, const std::vector<ShapeDims>& learned_from,
                                   std::size_t count, std::uint64_t seed, const Bounds& bounds) {
  if (tuned.empty() || count == 0) return {};
  const std::vector<ShapeDims> box = corners(tuned, definition.interface, bounds);
  if (box.empty()) return {};
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
  for (const ShapeDims& drawn : draw_shapes(box, count * kDrawnForOne, kBeyond, seed)) {
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
