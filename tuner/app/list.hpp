// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/app/place.hpp"
#include "tuner/report/table.hpp"

/// Lists the ops that can be tuned, the devices that were tuned on, and the sweeps.
namespace tilewright::app {

struct ListedOps {
  /// One row for each op: dims, types, attributes, implementations, configs before constraints, tuned problems.
  Table table;
  /// The ops whose definitions have mistakes, with the mistakes.
  std::vector<std::string> left_out;
};
/// Works without a cache.
[[nodiscard]] ListedOps list_ops(const Place& place);

/// The devices that the cache has trials of. Throws CacheError if it cannot be read.
[[nodiscard]] Table list_devices(const Place& place);

/// The sweeps, latest first, with the number of their trials. Throws CacheError if the cache cannot be read.
[[nodiscard]] Table list_sweeps(const Place& place);

}  // namespace tilewright::app
