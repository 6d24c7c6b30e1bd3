// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

/// Set cover: the fewest of given sets that together hold all elements. Pure.
namespace tilewright {

struct SetCover {
  /// Indices of the sets, ascending.
  std::vector<std::size_t> chosen;
  /// True if no smaller choice exists; false if the search was given up, with `chosen` at most as large as the greedy
  /// choice.
  bool proven = false;
};

/// `sets[i]` lists elements below `elements`; `given` are elements that need no set. Exact by branch and bound, after
/// dominated sets are removed, up to `most_steps` branches; then the best so far, which is at most as large as the
/// greedy choice (the set with the most missing elements, again and again). Of several smallest choices, the one found
/// first. Elements that no set holds are ignored. Deterministic.
[[nodiscard]] SetCover cover(std::size_t elements, const std::vector<std::vector<std::size_t>>& sets,
                             const std::vector<std::size_t>& given = {}, std::size_t most_steps = 200'000);

}  // namespace tilewright
