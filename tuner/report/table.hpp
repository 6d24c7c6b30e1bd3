// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// The model of all that is printed as rows, in four formats. A cell has its value in full precision; its column says
/// what the number means. Text is for people: scaled units, aligned columns, fitted to a width. JSON and CSV are for
/// programs: full precision, units in the names, nothing scaled. Markdown has text's cells as a table of a document.
/// Values; no threads.
namespace tilewright {

enum class Format : std::uint8_t { text, json, csv, markdown };
[[nodiscard]] std::optional<Format> format_from(std::string_view name) noexcept;

/// The unit of a column's numbers, which decides how text shows them.
enum class Unit : std::uint8_t {
  none,         ///< as it is; a fraction, such as an error, with three significant digits: 1.19e-07
  nanoseconds,  ///< 3.912 µs
  bytes,        ///< 64 MiB
  rate,         ///< four significant digits: 4312, 39.12; the heading has the unit
  share,        ///< a fraction: 92.4 %
  ratio,        ///< 1.84x
  count,        ///< 20.97 M
};

/// The formats that show a column: text and Markdown, JSON and CSV, or all.
enum class Shown : std::uint8_t { everywhere, people, programs };

struct Column {
  /// Name in JSON and CSV, with the unit: "time_ns".
  std::string name;
  /// Heading in text and Markdown: "time".
  std::string heading;
  Unit unit = Unit::none;
  Shown shown = Shown::everywhere;
  /// Text, if the table is too wide: a column whose cells are all equal is told once above the table.
  bool common = false;
  /// Then this column is broken over lines, after commas and blanks.
  bool breakable = false;
  /// Before breakable columns become narrow, this one is left out; the last first.
  bool spare = false;
  /// Truth values: text has a star for true, and on a terminal with colours the row stands out.
  bool mark = false;
  /// Configs: if the table is too wide, parameters with one value in all configs that have them are told once above the
  /// table, too.
  bool config = false;
};

using Cell = std::variant<std::monostate, std::string, std::int64_t, double, bool>;

/// Advice with commands to copy: each is printed on a line of its own, however long.
struct Advice {
  /// A whole sentence, or one that ends with a colon.
  std::string says;
  std::vector<std::string> commands;
};

struct Table {
  std::string title;
  std::vector<Column> columns;
  /// Each as long as `columns`; an empty cell means "not known".
  std::vector<std::vector<Cell>> rows;
  /// Whole sentences below the table; in JSON beside it. CSV leaves them out.
  std::vector<std::string> notes;
  /// Below the notes; in JSON as "advice".
  std::vector<Advice> advice{};
  /// Figures of the whole table; JSON alone has them, as an object "summary".
  std::vector<std::pair<std::string, Cell>> summary{};
  /// Text: a row is a block of "heading  value" lines, for few rows with much to say. Unknown cells are left out.
  bool as_records = false;
};

/// A cell as text shows it; "-" if empty.
[[nodiscard]] std::string show_cell(const Cell& cell, Unit unit);

/// Ends with a newline. `width` and `colour` count for text alone: the columns of the terminal, 0 for no limit, and
/// whether it shows colours. A table that cannot fit is printed whole: nothing is cut.
[[nodiscard]] std::string render(const Table& table, Format format, std::size_t width = 0, bool colour = false);
/// One as above; several, in JSON, as the items of a list, else with an empty line between them.
[[nodiscard]] std::string render(const std::vector<Table>& tables, Format format, std::size_t width = 0,
                                 bool colour = false);

}  // namespace tilewright
