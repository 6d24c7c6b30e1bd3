// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cache/store/import.hpp"
#include "cache/store/store.hpp"

/// Chooses few of the tried configs: the smallest set that serves each tuned shape nearly as well as its winner. A
/// config counts once for all shapes that one binary of it serves, so a config with specialised dims counts once for
/// each value of them. Works on a Store; needs no device.
namespace tilewright {

/// The configs chosen for the shapes of one op, dtype and attributes on one device in one mode.
struct CoverChoice {
  std::string spec;
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  std::size_t shapes = 0;
  /// Configs, each with its specialised dims: the winners now, and the chosen ones. Both include the bases.
  std::size_t winners = 0, chosen = 0;
  /// True if no fewer will do.
  bool proven = false;
  /// Served time over the shape's best time: the geometric mean and the worst.
  double mean_ratio = 1, worst_ratio = 1;
  /// The rows that serve: for each shape the fastest chosen config as best, the fastest without specialised dims as
  /// dynamic, and its base. Ordered as by Store::list_winners().
  std::vector<WinnerRow> rows;
};

/// One choice for each op, dtype, attributes, device and mode of the newest interfaces, in that order. A config covers
/// a shape if the median of its newest whole measurement there is at most `ratio` times the fastest. Of an edited
/// implementation, only the version measured last counts. Bases are always chosen, since they serve all other shapes.
/// With `need_binaries`, only configs with stored binaries are chosen. Of several smallest choices, it is one that no
/// exchange of two configs makes faster. Throws UsageError for a ratio below 1.
[[nodiscard]] std::vector<CoverChoice> choose_cover(const Store& store, double ratio, const WinnerSelection& filter,
                                                    bool need_binaries);

}  // namespace tilewright
