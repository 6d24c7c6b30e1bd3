// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

/// Orders drawn by a seed, the same on every platform: std::shuffle and the standard distributions are not.
namespace tilewright {

/// 0 … count-1 in an order drawn without replacement.
[[nodiscard]] inline std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 bits(seed);
  for (std::size_t left = count; left > 1; --left) std::swap(order[left - 1], order[bits() % left]);
  return order;
}

}  // namespace tilewright
