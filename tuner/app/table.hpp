// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/report/table.hpp"
#include "tuner/report/table_query.hpp"

/// Tables over what a cache has of an op: winners, all configs, the effect of a parameter, two sides compared, winners
/// over time.
namespace tilewright::app {

enum class View : std::uint8_t { winners, configs, effects, comparison, history };

struct TableRequest {
  Place place;
  /// The op, and problems that agree with all names: values may be lists.
  ProblemWords problems;
  View view = View::winners;
  /// The parameter of `effects`.
  std::string parameter;
  /// The sides of `comparison` (compare.hpp).
  std::string a;
  std::string b;
  /// As choose_devices() takes it; empty: all.
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  /// The rows and columns, and their order.
  TableQuery query;
  /// Above so many winners the table has a row a dtype and attributes; 0: never.
  std::size_t most_rows = 0;
};

/// Notes say why a table is empty. Throws UsageError for names that the op, the cache or the table does not have,
/// CacheError for a cache that cannot be read.
[[nodiscard]] Table table(const TableRequest& request);

}  // namespace tilewright::app
