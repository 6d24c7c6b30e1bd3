// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/table.hpp"

#include <fmt/format.h>

#include "cache/base/units.hpp"
#include "cache/base/visible.hpp"
#include "tuner/report/render.hpp"

namespace tilewright {
namespace {

std::string show_number(double value, Unit unit) {
  switch (unit) {
    case Unit::nanoseconds:
      return show_time(value);
    case Unit::bytes:
      return show_bytes(value);
    case Unit::rate:
      return significant(value, 4);
    case Unit::share:
      return show_share(value);
    case Unit::ratio:
      return show_ratio(value);
    case Unit::count:
      return show_count(value);
    case Unit::none:
      break;
  }
  return fmt::format("{:.3g}", value);
}

struct CellText {
  Unit unit;
  std::string operator()(std::monostate) const { return "-"; }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(std::int64_t number) const {
    return unit == Unit::none ? fmt::format("{}", number) : show_number(static_cast<double>(number), unit);
  }
  std::string operator()(double number) const { return show_number(number, unit); }
  std::string operator()(bool truth) const { return truth ? "yes" : "no"; }
};

/// The table with all its texts made safe for a terminal. Names, reasons and versions are of a file that others may
/// have written.
Table shown(Table table, bool on_one_line) {
  for (auto& row : table.rows) {
    for (Cell& cell : row) {
      if (auto* text = std::get_if<std::string>(&cell)) *text = on_one_line ? visible_line(*text) : visible(*text);
    }
  }
  for (Column& column : table.columns) {
    column.name = visible_line(column.name);
    column.heading = visible_line(column.heading);
  }
  table.title = visible(table.title);
  for (std::string& note : table.notes) note = visible(note);
  for (Advice& advice : table.advice) {
    advice.says = visible(advice.says);
    for (std::string& command : advice.commands) command = visible(command);
  }
  return table;
}

}  // namespace

std::optional<Format> format_from(std::string_view name) noexcept {
  if (name == "text") return Format::text;
  if (name == "json") return Format::json;
  if (name == "csv") return Format::csv;
  if (name == "markdown") return Format::markdown;
  return std::nullopt;
}

std::string show_cell(const Cell& cell, Unit unit) { return std::visit(CellText{unit}, cell); }

std::string render(const Table& table, Format format, std::size_t width, bool colour) {
  switch (format) {
    case Format::json:
      return visible(render_json(table));
    case Format::csv:
      return render_csv(shown(table, false));
    case Format::markdown:
      return render_markdown(shown(table, true));
    case Format::text:
      break;
  }
  return render_text(shown(table, true), width, colour);
}

std::string render(const std::vector<Table>& tables, Format format, std::size_t width, bool colour) {
  const bool is_list = format == Format::json && tables.size() != 1;
  std::string text = is_list ? "[" : "";
  for (const Table& table : tables) {
    if (&table != &tables.front()) text += is_list ? "," : "\n";
    text += render(table, format, width, colour);
  }
  return is_list ? text + "]\n" : text;
}

}  // namespace tilewright
