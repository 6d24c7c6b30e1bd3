// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cache/plan/strides.hpp"

/// The gaps between the pieces of a tensor that a step of its strides goes over. A value.
namespace tilewright {

/// The gaps behind each of `rows` pieces of `row` elements but the last, where each piece starts `pitch` ≥ `row`
/// elements behind the one before it; and the same again at each combination of indices of `repeats`.
struct Gaps {
  std::int64_t rows = 1;
  std::int64_t row = 0;
  std::int64_t pitch = 0;
  std::vector<StrideStep> repeats;

  /// Calls `gap(begin, end)` with the offsets of each.
  void visit(const std::function<void(std::int64_t begin, std::int64_t end)>& gap) const;
};

}  // namespace tilewright
