// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

/// Reduces ranked trials to the most informative: all of the fastest, and some of the others. Pure.
namespace tilewright {

/// `ranked` is fastest first. Keeps the first `fastest`, and `others` evenly spaced from the rest.
template <class T>
void keep_excerpt(std::vector<T>& ranked, std::size_t fastest, std::size_t others) {
  if (ranked.size() <= fastest + others) return;
  const std::size_t rest = ranked.size() - fastest;
  for (std::size_t i = 0; i < others; ++i) {
    ranked[fastest + i] = ranked[fastest + (2 * i + 1) * rest / (2 * others)];
  }
  ranked.resize(fastest + others);
}

}  // namespace tilewright
