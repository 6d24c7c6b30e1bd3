// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/observations.hpp"

namespace tilewright {

std::vector<Look> whole_looks(const std::vector<std::size_t>& order, const Observations& observations,
                              const SearchSpace& space, std::size_t most) {
  std::vector<Look> looks;
  const std::optional<std::size_t> base = observations.base();
  if (base && most > 0 && !observations.finished(*base)) looks.push_back({*base, LookLength::whole, space.rule});
  for (const std::size_t i : order) {
    if (looks.size() >= most) break;
    if (observations.finished(i) || i == base) continue;
    looks.push_back({i, LookLength::whole, space.rule});
  }
  return looks;
}

}  // namespace tilewright
