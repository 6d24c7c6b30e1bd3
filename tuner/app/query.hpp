// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/app/open_place.hpp"
#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/report/served_table.hpp"

/// The config that a cache serves for a problem, and its fit. Opens no device and compiles nothing.
namespace tilewright::app {

struct QueryRequest {
  Place place;
  /// Every dim with one value; dtype and attributes that are left out take their first.
  ProblemWords problem;
  /// As choose_devices() takes it; empty: all of the cache.
  std::string device;
};

struct QueryResult {
  Problem problem;
  /// One for each device, in the cache's order.
  std::vector<ServedLine> lines;
  /// Obstacles by device: why stored configs cannot be launched for the problem, and damaged parts that were passed
  /// over.
  std::vector<std::string> obstacles;
  std::vector<std::string> unread;
  /// Pins and bans by device, with their reasons.
  std::vector<std::string> decisions;

  /// Whether some device serves the problem.
  [[nodiscard]] bool is_served() const;
};

/// Throws UsageError for a problem that the op does not have, CacheError for a cache that cannot be read.
[[nodiscard]] QueryResult query(const QueryRequest& request);
/// The same of an open place, for frequent queries.
[[nodiscard]] QueryResult query(OpenPlace& open, const ProblemWords& words, const std::string& device);
/// Asks for a shape that nobody tuned of each spec and device, so that later queries find read what those must read.
/// Ends where `cancelled`; what cannot be read is passed over.
void warm_up(OpenPlace& open, const std::function<bool()>& cancelled);
/// The result as people and programs see it; says how to tune what is unknown.
[[nodiscard]] Table table_of(const QueryResult& result, const Place& place);

}  // namespace tilewright::app
