// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "cache/store/sqlite/faults.hpp"
#include "cache/store/store.hpp"

namespace tilewright {

/// Returns `row`, to which other rows of the cache refer. Throws CacheError, of the kind damaged, if it is missing.
template <class Row>
Row referred(std::optional<Row> row, const Store& store, std::string_view what) {
  if (!row) throw damage("read", store.path(), fmt::format("rows refer to {} that is gone", what), 0);
  return *std::move(row);
}

}  // namespace tilewright
