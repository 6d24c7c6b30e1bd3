// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/app/place.hpp"
#include "tuner/report/compare_table.hpp"

/// Two caches, devices or versions of an op, side by side.
namespace tilewright::app {

struct CompareRequest {
  Place place;
  std::string op;
  /// A cache's file, a device of the cache, or driver=, compiler= or tilewright= with a version.
  std::string a;
  std::string b;
  /// Only this one of the devices of both sides; empty: all.
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  std::function<bool(const Problem&)> wanted;
  /// Null where it is elsewhere: then nothing is known of bytes and operations.
  const OpDefinition* definition = nullptr;
  /// The best of each side comes with its rounds.
  bool rounds = false;
};

/// The cache that a side is of, which stays as it is.
[[nodiscard]] Store open_side(const Place& place, const std::string& side);
/// The ops that a side has, as compared_lines() takes it.
[[nodiscard]] std::vector<std::string> compared_ops(const Place& place, const std::string& side);

/// Whether a word names a side that is no device: a file, there or not, or a version.
[[nodiscard]] bool is_file_or_version(const std::string& word);

/// Problems that one side has, in the order of a table. Throws UsageError, with the sides that there are, for a word
/// that names no side, or several devices; CacheError for a file that is no cache.
[[nodiscard]] std::vector<CompareLine> compared_lines(const CompareRequest& request);

}  // namespace tilewright::app
