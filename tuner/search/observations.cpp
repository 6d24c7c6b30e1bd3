// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/observations.hpp"

namespace tilewright {

std::vector<Look> whole_looks(const std::vector<std::size_t>& order, const Observations& observations,
                              const SearchSpace& space, std::size_t most) {
  std::vector<Look> looks;
  for (std::size_t i = 0; i < space.candidates.size() && looks.size() < most; ++i) {
    if (space.candidates[i] != space.base || observations.finished(i)) continue;
    looks.push_back({i, LookLength::whole, space.rule});
  }
  for (const std::size_t i : order) {
    if (looks.size() >= most) break;
    if (observations.finished(i) || space.candidates[i] == space.base) continue;
    looks.push_back({i, LookLength::whole, space.rule});
  }
  return looks;
}

}  // namespace tilewright
