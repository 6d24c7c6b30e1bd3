// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

/// Set cover: the fewest of given sets that together hold every element. Pure.
namespace tilewright {

struct SetCover {
  /// Into the sets, ascending.
  std::vector<std::size_t> chosen;
  /// True when no smaller choice exists; false when the search was given up and `chosen` is what greed found, or
  /// better.
  bool proven = false;
};

/// `sets[i]` lists elements below `elements`; `given` are elements that need no set. Exact by branch and bound, after
/// what must be taken and what cannot help is dealt with, up to `most_steps` branches; then the best found so far,
/// which is never worse than taking the set with the most missing elements again and again. Of several smallest choices
/// the one found first. Elements that no set holds are left out of the question. Deterministic.
[[nodiscard]] SetCover cover(std::size_t elements, const std::vector<std::vector<std::size_t>>& sets,
                             const std::vector<std::size_t>& given = {}, std::size_t most_steps = 200'000);

}  // namespace tilewright
