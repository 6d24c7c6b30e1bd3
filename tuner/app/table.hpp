// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/report/table.hpp"
#include "tuner/report/table_query.hpp"

/// Tables of what a cache has of an op: winners, all configs, the effect of a parameter, two sides compared, winners
/// over time.
namespace tilewright::app {

enum class View : std::uint8_t { winners, configs, effects, comparison, history };

struct TableRequest {
  Place place;
  /// The op, and problems that match all names; values may be lists.
  ProblemWords problems;
  View view = View::winners;
  /// The parameter of `effects`.
  std::string parameter;
  /// The sides of `comparison` (compare.hpp).
  std::string a;
  std::string b;
  /// See choose_devices(); empty: all.
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  /// The rows and columns, and their order.
  TableQuery query;
  /// If there are more winners than this, the table has one row for each dtype and attributes; 0: no limit.
  std::size_t most_rows = 0;
};

/// Notes tell why a table is empty. Throws UsageError for names that the op, the cache or the table does not have,
/// CacheError if the cache cannot be read.
[[nodiscard]] Table table(const TableRequest& request);

}  // namespace tilewright::app
