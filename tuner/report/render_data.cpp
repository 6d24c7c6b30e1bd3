// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tuner/report/render.hpp"

namespace tilewright {
namespace {

struct CellJson {
  nlohmann::ordered_json operator()(std::monostate) const { return nullptr; }
  template <class Value>
  nlohmann::ordered_json operator()(const Value& value) const {
    return value;
  }
};

struct CellCsv {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(bool truth) const { return truth ? "true" : "false"; }
  std::string operator()(const std::string& text) const {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char byte : text) {
      if (byte == '"') quoted += '"';
      quoted += byte;
    }
    return quoted + '"';
  }
};

}  // namespace

nlohmann::ordered_json json_of(const Cell& cell) { return std::visit(CellJson{}, cell); }

std::string render_json(const Table& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& cells : table.rows) {
    nlohmann::ordered_json row = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (table.columns[i].shown == Shown::people) continue;
      row[table.columns[i].name] = json_of(cells[i]);
    }
    rows.push_back(std::move(row));
  }
  nlohmann::ordered_json all;
  all["title"] = table.title;
  all["rows"] = std::move(rows);
  all["notes"] = table.notes;
  for (const Advice& advice : table.advice) {
    all["advice"].push_back({{"says", advice.says}, {"commands", advice.commands}});
  }
  for (const auto& [name, cell] : table.summary) all["summary"][name] = json_of(cell);
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string render_csv(const Table& table) {
  std::string text;
  const auto line = [&](const auto& cell_of) {
    bool first = true;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].shown == Shown::people) continue;
      if (!first) text += ',';
      first = false;
      text += cell_of(i);
    }
    text += '\n';
  };
  line([&](std::size_t i) { return CellCsv{}(table.columns[i].name); });
  for (const auto& cells : table.rows) line([&](std::size_t i) { return std::visit(CellCsv{}, cells[i]); });
  return text;
}

}  // namespace tilewright
