// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/model/config.hpp"
#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"

/// How the work of a problem is cut into tiles, as far as the names of parameters tell: what a prediction needs beside
/// the parameters themselves, since whether the last wave of tiles fills the device changes from shape to shape. Pure.
namespace tilewright {

struct Tiling {
  /// The dims of what the op writes.
  std::vector<std::string> dims;
  /// Multiprocessors.
  int units = 1;
};

[[nodiscard]] Tiling tiling_of(const OpInterface& interface, int units);

/// log2 of the share of the device that is at work, on average over the waves of tiles: 0 where all of it always is,
/// and where the config's parameters say nothing of tiles. `block_D` and `D_per_block` cut the dim D of what is
/// written; `split_D` cuts any dim D into so many parts.
[[nodiscard]] double log_of_fill(const Config& config, const Problem& problem, const Tiling& tiling);

}  // namespace tilewright
