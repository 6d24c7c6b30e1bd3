// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/table.hpp"

#include <fmt/format.h>

#include "tuner/analysis/units.hpp"
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
      return render_json(table);
    case Format::csv:
      return render_csv(table);
    case Format::markdown:
      return render_markdown(table);
    case Format::text:
      break;
  }
  return render_text(table, width, colour);
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
