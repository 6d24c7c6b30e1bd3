// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

/// Orders drawn by a seed, equal on all platforms, unlike std::shuffle and the standard distributions. Pure.
namespace tilewright {

/// 0 … count-1 in an order drawn without replacement.
[[nodiscard]] inline std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 bits(seed);
  for (std::size_t left = count; left > 1; --left) std::swap(order[left - 1], order[bits() % left]);
  return order;
}

/// Sorts `all` by its members' `values`, least first.
inline void sort_by(std::vector<std::size_t>& all, const std::vector<double>& values) {
  std::vector<std::size_t> places(all.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::transform(places.begin(), places.end(), places.begin(), [&](std::size_t place) { return all[place]; });
  all = std::move(places);
}

/// Keeps `most` drawn members of `all`, in their order.
inline void keep_drawn(std::vector<std::size_t>& all, std::size_t most, std::uint64_t seed) {
  if (all.size() <= most) return;
  std::vector<std::size_t> places = shuffled(all.size(), seed);
  places.resize(most);
  std::sort(places.begin(), places.end());
  std::transform(places.begin(), places.end(), places.begin(), [&](std::size_t place) { return all[place]; });
  all = std::move(places);
}

}  // namespace tilewright
