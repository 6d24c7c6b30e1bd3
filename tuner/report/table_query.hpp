// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/report/table.hpp"

/// A question to a table: which rows, in what order, how many, and which columns. Works on any table.
namespace tilewright {

struct TableQuery {
  /// A question to each row (row_filter.hpp); empty: all rows.
  std::string where{};
  /// Names of columns; with '-' in front the greatest first. Empty: as they are.
  std::vector<std::string> sort{};
  /// Rows at most, after sorting; nothing: all.
  std::optional<std::size_t> top{};
  /// Names of columns, in this order; empty: as they are.
  std::vector<std::string> columns{};
};

/// A column by its name, else by its heading; nothing when no column or more than one heading is called so.
[[nodiscard]] std::optional<std::size_t> find_column(const Table& table, std::string_view typed) noexcept;
/// As programs see them.
[[nodiscard]] std::vector<std::string> column_names(const Table& table);

/// Filters, sorts, cuts, then chooses columns; those chosen are for people and programs alike, whatever they were.
/// Cells that are not known come last in either order; equal rows keep their order. Throws UsageError with the nearest
/// right name for a column that does not exist, and as RowFilter::parse.
void apply(const TableQuery& query, Table& table);

}  // namespace tilewright
