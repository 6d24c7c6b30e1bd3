// SPDX-License-Identifier: Apache-2.0
#include "cache/store/renumber.hpp"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {
namespace {

struct Column {
  std::string name;
  /// The table that it refers to; its own table if it is the id; empty: it is a value.
  std::string refers_to;
};

struct Table {
  std::string name;
  std::vector<Column> columns;

  [[nodiscard]] bool has_id() const { return columns.front().refers_to == name; }
};

std::vector<Table> numbered_tables(SQLite::Database& database) {
  std::vector<Table> tables;
  SQLite::Statement rows(
      database,
      "SELECT s.name, c.name, coalesce(f.\"table\", iif(c.name = 'id', s.name, '')) "
      "FROM main.sqlite_schema s JOIN pragma_table_xinfo(s.name) c "
      "LEFT JOIN pragma_foreign_key_list(s.name) f ON f.\"from\" = c.name "
      "WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite%' AND c.hidden = 0 ORDER BY s.name, c.cid");
  while (rows.executeStep()) {
    const std::string name = rows.getColumn(0).getString();
    if (tables.empty() || tables.back().name != name) tables.push_back({name, {}});
    tables.back().columns.push_back({rows.getColumn(1).getString(), rows.getColumn(2).getString()});
  }
  return tables;
}

/// Orders tables so that each comes after those that it refers to.
std::vector<Table> in_order_of_references(std::vector<Table> left) {
  const auto is_ready = [&](const Table& table) {
    return std::ranges::none_of(table.columns, [&](const Column& column) {
      return column.refers_to != table.name && std::ranges::find(left, column.refers_to, &Table::name) != left.end();
    });
  };
  std::vector<Table> ordered;
  while (!left.empty()) {
    auto next = std::ranges::find_if(left, is_ready);
    // Tables that refer to each other have no such order: the first by name is taken.
    if (next == left.end()) next = left.begin();
    ordered.push_back(std::move(*next));
    left.erase(next);
  }
  return ordered;
}

std::string place_of(const Table& table, const Column& column) {
  return fmt::format("(SELECT p.place FROM temp.places_{} p WHERE p.id = {}.{})", column.refers_to, table.name,
                     column.name);
}

}  // namespace

void renumber(Database& database) {
  SQLite::Database& handle = database.handle();
  const std::vector<Table> tables = in_order_of_references(numbered_tables(handle));
  for (const Table& table : tables) {
    if (!table.has_id()) continue;
    std::vector<std::string> order;
    for (const Column& column : table.columns) {
      if (column.refers_to != table.name)
        order.push_back(column.refers_to.empty() ? column.name : place_of(table, column));
    }
    handle.exec(
        fmt::format("CREATE TEMP TABLE places_{0} (id INTEGER PRIMARY KEY, place INTEGER); "
                    "INSERT INTO temp.places_{0} SELECT id, row_number() OVER (ORDER BY {1}) FROM main.{0}",
                    table.name, fmt::join(order, ", ")));
  }
  // Negative ids first, so that no new id meets an old one.
  for (const bool is_below : {true, false}) {
    for (const Table& table : tables) {
      std::vector<std::string> changes;
      for (const Column& column : table.columns) {
        if (column.refers_to.empty()) continue;
        changes.push_back(fmt::format("{} = -{}", column.name, is_below ? place_of(table, column) : column.name));
      }
      if (!changes.empty()) handle.exec(fmt::format("UPDATE main.{} SET {}", table.name, fmt::join(changes, ", ")));
    }
  }
  for (const Table& table : tables) handle.exec(fmt::format("DROP TABLE IF EXISTS temp.places_{}", table.name));
}

}  // namespace tilewright
