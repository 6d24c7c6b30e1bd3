// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/app/place.hpp"
#include "tuner/report/table.hpp"

/// The ops that can be tuned, the devices that were tuned on, and when.
namespace tilewright::app {

struct ListedOps {
  /// A row an op: dims, types, attributes, implementations, configs before constraints, tuned problems.
  Table table;
  /// Ops whose definitions have mistakes, with these: one does not hide the others.
  std::vector<std::string> left_out;
};
/// Works without a cache.
[[nodiscard]] ListedOps list_ops(const Place& place);

/// Devices that the cache has trials of. Throws CacheError for one that cannot be read.
[[nodiscard]] Table list_devices(const Place& place);

/// The latest first, with how many trials each made. Throws CacheError for a cache that cannot be read.
[[nodiscard]] Table list_sweeps(const Place& place);

}  // namespace tilewright::app
