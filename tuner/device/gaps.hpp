// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cache/plan/strides.hpp"

/// The gaps that a strided tensor leaves between its pieces. A value.
namespace tilewright {

/// The gaps after all but the last of `rows` pieces of `row` elements, each starting `pitch` ≥ `row` elements after the
/// previous. They repeat at each combination of indices of `repeats`.
struct Gaps {
  std::int64_t rows = 1;
  std::int64_t row = 0;
  std::int64_t pitch = 0;
  std::vector<StrideStep> repeats;

  /// Calls `gap(begin, end)` with the element offsets of each gap.
  void visit(const std::function<void(std::int64_t begin, std::int64_t end)>& gap) const;
};

}  // namespace tilewright
