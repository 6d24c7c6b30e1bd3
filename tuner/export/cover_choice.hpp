// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cache/store/import.hpp"
#include "cache/store/store.hpp"

/// From all that was tried to few configs: the smallest set that serves every tuned shape nearly as well as its winner.
/// A config counts once for all shapes that one binary of it serves, so a config with specialised dims counts once for
/// each value of them. Over a Store; no device.
namespace tilewright {

/// The configs chosen for the shapes of one op, dtype and attributes on one device in one mode.
struct CoverChoice {
  std::string spec;
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  std::size_t shapes = 0;
  /// Configs, each with its specialised dims, that are winners now, and that are left; the bases are among both.
  std::size_t winners = 0, chosen = 0;
  /// True when no fewer will do.
  bool proven = false;
  /// Time over that of the shape's winner: the geometric mean and the worst.
  double mean_ratio = 1, worst_ratio = 1;
  /// The winners that serve: for each shape the fastest of the chosen as best, the fastest of those without specialised
  /// dims as dynamic, and its base. As Store::list_winners orders them.
  std::vector<WinnerRow> rows;
};

/// For each op, dtype, attributes, device and mode of the newest interfaces, in that order. A config covers a shape
/// when the median of its newest whole measurement there is at most `ratio` times the fastest's; of an implementation
/// that was edited only what was measured last counts. The base comes for nothing, since every other shape is served by
/// it. With `need_binaries`, only configs whose binaries are stored are chosen. Of several smallest choices it is one
/// that no exchange of two configs makes faster. Throws UsageError for a ratio below 1.
[[nodiscard]] std::vector<CoverChoice> choose_cover(const Store& store, double ratio, const WinnerSelection& filter,
                                                    bool need_binaries);

}  // namespace tilewright
