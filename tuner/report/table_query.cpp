// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/table_query.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/error.hpp"
#include "tuner/report/row_filter.hpp"

namespace tilewright {
namespace {

std::size_t need_column(const Table& table, const std::string& option, const std::string& typed) {
  if (const auto found = find_column(table, typed)) return *found;
  throw UsageError(fmt::format("{}: there is no column '{}'{}", option, typed, suggestion(typed, column_names(table))));
}

struct SortKey {
  std::size_t column = 0;
  bool greatest_first = false;
};

/// Text by bytes; false before true.
int compare(const Cell& a, const Cell& b) {
  if (const auto* text = std::get_if<std::string>(&a)) {
    const auto* other = std::get_if<std::string>(&b);
    return other == nullptr ? 1 : text->compare(*other);
  }
  const auto number = [](const Cell& cell) {
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&cell)) return *real;
    const auto* truth = std::get_if<bool>(&cell);
    return truth != nullptr && *truth ? 1.0 : 0.0;
  };
  return number(a) < number(b) ? -1 : number(b) < number(a) ? 1 : 0;
}

void sort_rows(Table& table, const std::vector<std::string>& names) {
  std::vector<SortKey> keys;
  for (const std::string& name : names) {
    const bool greatest_first = name.starts_with('-');
    keys.push_back({need_column(table, "--sort", greatest_first ? name.substr(1) : name), greatest_first});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
    for (const SortKey& key : keys) {
      const Cell& left = a[key.column];
      const Cell& right = b[key.column];
      const bool left_known = !std::holds_alternative<std::monostate>(left);
      const bool right_known = !std::holds_alternative<std::monostate>(right);
      if (left_known != right_known) return left_known;
      const int order = left_known ? compare(left, right) : 0;
      if (order != 0) return (order < 0) != key.greatest_first;
    }
    return false;
  });
}

void choose_columns(Table& table, const std::vector<std::string>& names) {
  std::vector<std::size_t> chosen;
  for (const std::string& name : names) chosen.push_back(need_column(table, "--columns", name));
  std::vector<Column> columns;
  for (const std::size_t index : chosen) {
    Column column = table.columns[index];
    column.shown = Shown::everywhere;
    column.spare = false;
    column.common = false;
    if (column.heading.empty() && !column.mark) column.heading = column.name;
    columns.push_back(std::move(column));
  }
  for (auto& row : table.rows) {
    std::vector<Cell> cells;
    for (const std::size_t index : chosen) cells.push_back(row[index]);
    row = std::move(cells);
  }
  table.columns = std::move(columns);
}

}  // namespace

std::optional<std::size_t> find_column(const Table& table, std::string_view typed) noexcept {
  std::optional<std::size_t> by_heading;
  std::size_t headings = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name == typed) return i;
    const bool has_heading = table.columns[i].shown != Shown::programs;
    if (!has_heading || table.columns[i].heading != typed || typed.empty()) continue;
    by_heading = i;
    ++headings;
  }
  return headings == 1 ? by_heading : std::nullopt;
}

std::vector<std::string> column_names(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.push_back(column.name);
  return names;
}

void apply(const TableQuery& query, Table& table) {
  if (!query.where.empty()) {
    const RowFilter filter = RowFilter::parse(query.where, "--where", table);
    std::erase_if(table.rows, [&](const auto& row) { return !filter.keeps(row); });
  }
  sort_rows(table, query.sort);
  if (query.top && table.rows.size() > *query.top) table.rows.resize(*query.top);
  if (!query.columns.empty()) choose_columns(table, query.columns);
}

}  // namespace tilewright
