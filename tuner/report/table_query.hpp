// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/report/table.hpp"

/// A query on a table: which rows, in what order, how many, and which columns. Works on any table.
namespace tilewright {

struct TableQuery {
  /// A condition on each row (row_filter.hpp); empty: all rows.
  std::string where{};
  /// Names of columns; with '-' in front the greatest first. Empty: not sorted.
  std::vector<std::string> sort{};
  /// The most rows, after sorting; nullopt: all.
  std::optional<std::size_t> top{};
  /// Names of columns, in this order; empty: unchanged.
  std::vector<std::string> columns{};
};

/// A column by its name, else by its heading; nullopt if no column or more than one heading matches.
[[nodiscard]] std::optional<std::size_t> find_column(const Table& table, std::string_view typed) noexcept;
/// The names that programs see.
[[nodiscard]] std::vector<std::string> column_names(const Table& table);

/// Filters, sorts, cuts, then chooses columns; chosen columns are for people and programs alike. Unknown cells come
/// last in either order; equal rows keep their order. Throws UsageError with the nearest right name for an unknown
/// column, and as RowFilter::parse().
void apply(const TableQuery& query, Table& table);

}  // namespace tilewright
