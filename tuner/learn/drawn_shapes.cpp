// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/drawn_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace tilewright {
namespace {

/// Two of three lengths from kLong on are multiples of this.
constexpr std::int64_t kUsualMultiple = 8;
constexpr std::int64_t kLong = 64;

/// The start of each dim's sequence, as a share of its range; 0 for seed 0.
std::vector<double> offsets(std::size_t dims, std::uint64_t seed) {
  std::vector<double> all(dims, 0);
  if (seed == 0) return all;
  // The engine's numbers are the same on all platforms, unlike those of standard distributions.
  std::mt19937_64 engine(seed);
  for (double& offset : all) offset = static_cast<double>(engine() >> 11) / static_cast<double>(std::uint64_t{1} << 53);
  return all;
}

}  // namespace

std::vector<ShapeDims> draw_shapes(const std::vector<ShapeDims>& tuned, std::size_t count, double beyond,
                                   std::uint64_t seed) {
  const std::size_t size = tuned.front().size();
  // The recurrence of the generalised golden ratio (the R sequence of M. Roberts, 2018).
  double golden = 2;
  for (int i = 0; i < 32; ++i) golden = std::pow(1 + golden, 1 / static_cast<double>(size + 1));
  const std::vector<double> begin = offsets(size, seed);
  // Drawn for each length on its own: a kernel may need rows of either alignment.
  std::mt19937_64 usual(seed);
  std::vector<std::pair<double, double>> ranges;
  for (std::size_t d = 0; d < size; ++d) {
    const auto in_dim = [d](const ShapeDims& each) { return each[d]; };
    const auto [least, most] = std::ranges::minmax_element(tuned, {}, in_dim);
    ranges.emplace_back(std::max(1.0, static_cast<double>((*least)[d]) / beyond),
                        static_cast<double>((*most)[d]) * beyond);
  }
  std::vector<ShapeDims> drawn;
  for (std::size_t i = 0; i < count; ++i) {
    ShapeDims& shape = drawn.emplace_back();
    for (std::size_t d = 0; d < size; ++d) {
      const auto& [low, high] = ranges[d];
      const double step = begin[d] + static_cast<double>(i + 1) / std::pow(golden, static_cast<double>(d + 1));
      std::int64_t length = std::llround(low * std::pow(high / low, step - std::floor(step)));
      if (usual() % 3 != 0 && length >= kLong) length = length / kUsualMultiple * kUsualMultiple;
      shape.push_back(std::max<std::int64_t>(1, length));
    }
  }
  return drawn;
}

Problem problem_of(const OpInterface& interface, const OpSpec& spec, const ShapeDims& shape) {
  Problem problem{spec, {}};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    problem.dims.emplace_back(interface.dims[d], interface.planned_extent(d, shape[d]));
  }
  return problem;
}

std::size_t dims_in_common(const ShapeDims& a, const ShapeDims& b) {
  std::size_t common = 0;
  for (std::size_t d = 0; d < a.size(); ++d) common += a[d] == b[d] ? 1 : 0;
  return common;
}

bool shares_a_dim(const ShapeDims& a, const ShapeDims& b) { return dims_in_common(a, b) > 0; }

}  // namespace tilewright
