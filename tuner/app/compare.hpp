// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/app/place.hpp"
#include "tuner/report/compare_table.hpp"

/// Compares two caches, devices or versions of an op side by side.
namespace tilewright::app {

struct CompareRequest {
  Place place;
  std::string op;
  /// A cache's file, a device of the cache, or driver=, compiler= or tilewright= with a version.
  std::string a;
  std::string b;
  /// The one device to compare on both sides; empty: all.
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  std::function<bool(const Problem&)> wanted;
  /// Null if the definition is not on this machine: bytes and operations are then unknown.
  const OpDefinition* definition = nullptr;
  /// Whether the best trial of each side comes with its rounds.
  bool rounds = false;
};

/// Opens the cache of a side, without changing it.
[[nodiscard]] Store open_side(const Place& place, const std::string& side);
/// The ops of a side, which is named as in CompareRequest.
[[nodiscard]] std::vector<std::string> compared_ops(const Place& place, const std::string& side);

/// Whether a word names a side other than a device: a file, there or not, or a version.
[[nodiscard]] bool is_file_or_version(const std::string& word);

/// The problems that at least one side has, in the order of a table. Throws UsageError, with the valid sides, for a
/// word that names no side or several devices; CacheError for a file that is no cache.
[[nodiscard]] std::vector<CompareLine> compared_lines(const CompareRequest& request);

}  // namespace tilewright::app
