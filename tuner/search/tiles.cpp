// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

namespace tilewright {
namespace {

/// Of the dim in a tile; 0 where no parameter says it, and where the dim is not written.
std::int64_t extent_of_tile(const Config& config, const std::string& dim, const Tiling& tiling) {
  if (std::find(tiling.dims.begin(), tiling.dims.end(), dim) == tiling.dims.end()) return 0;
  const std::int64_t block = config.value_or("block_" + dim, 0);
  return block > 0 ? block : std::max<std::int64_t>(config.value_or(dim + "_per_block", 0), 0);
}

double tiles_of(std::int64_t extent, std::int64_t tile) {
  return std::ceil(static_cast<double>(extent) / static_cast<double>(tile));
}

}  // namespace

Tiling tiling_of(const OpInterface& interface, int units) {
  std::set<std::string> written;
  for (const Argument& arg : interface.args) {
    if (arg.role != ArgRole::out && arg.role != ArgRole::inout) continue;
    for (const Formula& extent : arg.shape) {
      for (const std::string& name : extent.names()) written.insert(name);
    }
  }
  Tiling tiling;
  tiling.units = units;
  std::copy_if(interface.dims.begin(), interface.dims.end(), std::back_inserter(tiling.dims),
               [&](const std::string& dim) { return written.count(dim) != 0; });
  return tiling;
}

double log_of_fill(const Config& config, const Problem& problem, const Tiling& tiling) {
  double tiles = 0;
  const auto multiply = [&](double factor) { tiles = std::max(tiles, 1.0) * factor; };
  for (const auto& [dim, extent] : problem.dims) {
    if (const std::int64_t tile = extent_of_tile(config, dim, tiling); tile > 0) multiply(tiles_of(extent, tile));
    if (const std::int64_t parts = config.value_or("split_" + dim, 0); parts > 0) {
      multiply(static_cast<double>(parts));
    }
  }
  if (tiles == 0) return 0;
  const double waves = std::ceil(tiles / tiling.units);
  return std::log2(tiles / (waves * tiling.units));
}

}  // namespace tilewright
