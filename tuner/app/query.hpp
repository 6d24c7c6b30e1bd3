// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/app/open_place.hpp"
#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/report/served_table.hpp"

/// Finds the config that a cache serves for a problem, and its fit. Opens no device and compiles nothing.
namespace tilewright::app {

struct QueryRequest {
  Place place;
  /// All dims, with one value each; a missing dtype or attribute takes its first value.
  ProblemWords problem;
  /// See choose_devices(); empty: all of the cache.
  std::string device;
};

struct QueryResult {
  Problem problem;
  /// One for each device, in the cache's order.
  std::vector<ServedLine> lines;
  /// By device: why stored configs cannot be launched for the problem, and the damaged parts that were skipped.
  std::vector<std::string> obstacles;
  std::vector<std::string> unread;
  /// Pins and bans by device, with their reasons.
  std::vector<std::string> decisions;
  /// See OpenPlace::warning().
  std::string warning{};

  /// Whether some device serves the problem.
  [[nodiscard]] bool is_served() const;
};

/// Throws UsageError for a problem that the op does not have, CacheError if the cache cannot be read, DefinitionError
/// if nothing serves and the op's definition is not TOML.
[[nodiscard]] QueryResult query(const QueryRequest& request);
/// The same for an open place, for frequent queries.
[[nodiscard]] QueryResult query(OpenPlace& open, const ProblemWords& words, const std::string& device);
/// Queries an untuned shape of each spec and device, so that later queries find their data read already. Stops once
/// `cancelled` returns true; skips what cannot be read.
void warm_up(OpenPlace& open, const std::function<bool()>& cancelled);
/// The result for people and programs, with how to tune an unknown problem.
[[nodiscard]] Table table_of(const QueryResult& result, const Place& place);

}  // namespace tilewright::app
